#include "mangrove/cluster/coordinator_identity.h"

#include <algorithm>

#include "mangrove/base/file.h"
#include "mangrove/base/host_name.h"
#include "mangrove/base/log.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::IdentityStore;
using identity::Role;
using identity::WallTime;

constexpr const char* kCoordinatorName = "coordinator";
constexpr const char* kAdminName = "admin";

bool is_fresh(const Identity& identity, WallTime now) {
  return identity.check(now).ok() && !identity.is_due_for_renewal(now);
}

Status make_admin(Registrar& registrar, const IdentityStore& store, WallTime now) {
  MG_TRY(const auto known, store.of_authority(registrar.authority().certificate().hash()));
  const auto good = std::ranges::find_if(known, [&](const IdentityStore::Entry& entry) {
    return entry.identity.subject().role == Role::admin && is_fresh(entry.identity, now) &&
           !registrar.is_revoked(entry.identity.certificate().serial());
  });
  if (good != known.end()) {
    registrar.set_admin_file(good->path);
    return {};
  }
  MG_TRY(const Identity admin, registrar.issue({Role::admin, kAdminName}, now));
  MG_TRY(const fs::path kept, store.save(admin));
  registrar.set_admin_file(kept);
  log_info("the admin's certificate is kept", {{"file", kept.string()}});
  return {};
}

}  // namespace

Result<std::shared_ptr<const net::Credentials>> coordinator_credentials(Registrar& registrar,
                                                                        const IdentityStore& store, WallTime now) {
  const fs::path file = registrar.folder() / "coordinator.pem";
  const Result<Identity> kept = Identity::load(file);
  if (!kept.ok() && kept.code() != Code::not_found) return kept.error();
  // members that join now would refuse a certificate of an earlier authority; and the coordinator may have ended just
  // when its authority was replaced
  if (!kept.ok() || !is_fresh(*kept, now) || kept->authorities_pem() != registrar.believed(now).authorities) {
    MG_TRY(const Identity made, registrar.issue({Role::coordinator, kCoordinatorName}, now));
    MG_RETURN_IF_ERROR(write_private_file(file, made.pem()));
  }
  if (const Status made = make_admin(registrar, store, now); !made.ok())
    log_warn("no admin's certificate is kept", {{"message", made.error().message}});
  return net::Credentials::load(file);
}

}  // namespace mangrove::cluster
