#include "mangrove/cli/service_notice.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/stop.h"

namespace mangrove::cli {
namespace {

constexpr bool kLeaveEnvironment = false;

void notify(const std::string& event, const std::string& status) {
  ::sd_notify(kLeaveEnvironment, (event + "STATUS=" + status).c_str());  // nobody listens: not an error
}

/// Processes that are started from the one that keeps its health there have the same environment.
std::optional<fs::path> own_health_file() {
  auto file = health_file();
  if (file && is_kept_by_another(*file, SteadyClock().now())) file.reset();
  return file;
}

/// How often somebody wants a sign of life. Nothing: nobody does.
std::optional<Seconds> sign_every(bool keeps_file) {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(kLeaveEnvironment, &microseconds) <= 0)
    return keeps_file ? std::optional(kHealthEvery) : std::nullopt;
  const Seconds twice_in_time = static_cast<Seconds>(microseconds) / 2e6;
  return keeps_file ? std::min(twice_in_time, kHealthEvery) : twice_in_time;
}

}  // namespace

ServiceNotice::ServiceNotice(std::string program, std::string status)
    : program_(std::move(program)),
      health_file_(own_health_file()),
      state_([status = std::move(status)] { return State{.is_ready = false, .status = status}; }) {
  tell("");
  if (const auto every = sign_every(health_file_.has_value()))
    signs_of_life_ = std::jthread([this, every = *every](const std::stop_token& stop) {
      while (!wait_for_stop(stop, every)) tell("WATCHDOG=1\n");
    });
}

ServiceNotice::~ServiceNotice() {
  ending();
}

ServiceNotice::Work ServiceNotice::ready(std::function<State()> state) {
  {
    MutexLock lock(mutex_);
    state_ = std::move(state);
  }
  tell("READY=1\n");
  return Work(*this);
}

void ServiceNotice::ending() {
  signs_of_life_.request_stop();
  if (signs_of_life_.joinable()) signs_of_life_.join();  // it says nothing after this
  MutexLock lock(mutex_);
  if (state_ == nullptr) return;
  state_ = nullptr;
  notify("STOPPING=1\n", "ending");
  std::error_code gone_already;
  if (health_file_) fs::remove(*health_file_, gone_already);
}

void ServiceNotice::tell(const std::string& event) {
  MutexLock lock(mutex_);
  const State state = state_();
  notify(event, state.status);
  if (!health_file_) return;
  const Status written =
      write_health(*health_file_, {program_, state.is_ready, state.status, ::getpid()}, SteadyClock().now());
  if (!written.ok() && is_written_) log_warn("health not written", {{"message", written.error().message}});
  is_written_ = written.ok();
}

}  // namespace mangrove::cli
