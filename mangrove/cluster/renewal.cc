#include "mangrove/cluster/renewal.h"

#include "mangrove/base/file.h"
#include "mangrove/base/log.h"
#include "mangrove/base/stop.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kRenewalCheckEvery = 600;  // so it asks an absent coordinator again, through the last part of a life

}  // namespace

Renewal::Renewal(fs::path file, Renew renew, IsOutdated is_outdated)
    : file_(std::move(file)), renew_(std::move(renew)), is_outdated_(std::move(is_outdated)) {
  if (!file_.empty()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Renewal::~Renewal() = default;

void Renewal::run(const std::stop_token& stop) {
  do {
    if (const Status looked = look(); !looked.ok())
      log_warn("certificate not renewed", {{"message", looked.error().message}});
  } while (!wait_for_stop(stop, kRenewalCheckEvery));
}

Status Renewal::look() const {
  if (file_.empty()) return {};
  MutexLock lock(mutex_);
  MG_TRY(const identity::Identity now_used, identity::Identity::load(file_));
  if (!now_used.is_due_for_renewal(identity::wall_now()) && !is_outdated_(now_used)) return {};
  MG_TRY(const identity::Identity renewed, renew_());
  MG_RETURN_IF_ERROR(renewed.check(identity::wall_now()));  // if it is not valid, the old one stays
  MG_RETURN_IF_ERROR(write_private_file(file_, renewed.pem()));
  log_info("certificate renewed", {{"until", identity::to_text(renewed.certificate().valid_to())}});
  return {};
}

}  // namespace mangrove::cluster
