#pragma once

#include <functional>
#include <string>
#include <thread>

namespace mangrove::cli {

/// While it lives, the service manager (systemd) knows this process as a service that is ready. Without a service
/// manager it does nothing. Source: sd_notify(3), sd_watchdog_enabled(3).
/// threads: one.
class ServiceNotice {
 public:
  /// status: gives one line for `systemctl status`. With a watchdog (WatchdogSec= of the unit), it is called from
  /// another thread twice in that time, as a sign of life: it should take a lock that the service works with, so
  /// that a service that hangs while it holds this lock is started again.
  explicit ServiceNotice(std::function<std::string()> status);
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

 private:
  std::function<std::string()> status_;
  std::jthread watchdog_;
};

}  // namespace mangrove::cli
