#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cli/health_file.h"

namespace mangrove::cli {

/// Tells others how a process that runs for long is, from its start to its end: the service manager (systemd), and
/// `mangrove health` by the file of health_file(). Without either it does nothing. Source: sd_notify(3),
/// sd_watchdog_enabled(3).
/// threads: one.
class ServiceNotice {
 public:
  /// program: its command. status: what it does until it is ready, one line.
  ServiceNotice(std::string program, std::string status);
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  struct State {
    bool is_ready = true;
    std::string status;  // one line
  };
  /// From now on the process does its work. state: is called from another thread every few seconds, as a sign of life,
  /// until ending(): it should take a lock that the service works with, so that a service that hangs while it holds
  /// this lock is started again.
  void ready(std::function<State()> state);
  /// From now on the process ends.
  void ending();

 private:
  void tell(const std::string& event);

  const std::string program_;
  const std::optional<fs::path> health_file_;
  Mutex mutex_;
  std::function<State()> state_ MG_GUARDED_BY(mutex_);
  bool is_written_ MG_GUARDED_BY(mutex_) = true;  // the health file, the last time
  std::jthread signs_of_life_;
};

}  // namespace mangrove::cli
