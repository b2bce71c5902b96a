#include "mangrove/cli/service_notice.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <utility>

#include "mangrove/base/stop.h"

namespace mangrove::cli {
namespace {

constexpr bool kLeaveEnvironment = false;

void notify(const std::string& state, const std::string& status) {
  ::sd_notify(kLeaveEnvironment, (state + "\nSTATUS=" + status).c_str());  // nobody listens: not an error
}

}  // namespace

ServiceNotice::ServiceNotice(std::function<std::string()> status) : status_(std::move(status)) {
  notify("READY=1", status_());
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(kLeaveEnvironment, &microseconds) <= 0) return;
  watchdog_ = std::jthread([this, every = static_cast<Seconds>(microseconds) / 2e6](const std::stop_token& stop) {
    while (!wait_for_stop(stop, every)) notify("WATCHDOG=1", status_());
  });
}

ServiceNotice::~ServiceNotice() {
  watchdog_.request_stop();
  if (watchdog_.joinable()) watchdog_.join();  // it says nothing after this
  notify("STOPPING=1", "ending");
}

}  // namespace mangrove::cli
