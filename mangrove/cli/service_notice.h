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
/// `mangrove health` by the file of health_file(), unless another process keeps its health there. Without either it
/// does nothing. Source: sd_notify(3), sd_watchdog_enabled(3). threads: one.
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
  /// The time in which the process does its work. When it is over, the process ends.
  class Work {
   public:
    explicit Work(ServiceNotice& notice) : notice_(notice) {}
    ~Work() { notice_.ending(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    ServiceNotice& notice_;
  };
  /// From now on the process does its work. state: is called from another thread every few seconds, as a sign of life,
  /// as long as what is returned lives: it should take a lock that the service works with, so that a service that hangs
  /// while it holds this lock is started again.
  [[nodiscard]] Work ready(std::function<State()> state);

 private:
  void ending();
  void tell(const std::string& event);

  const std::string program_;
  const std::optional<fs::path> health_file_;
  Mutex mutex_;
  std::function<State()> state_ MG_GUARDED_BY(mutex_);
  bool is_written_ MG_GUARDED_BY(mutex_) = true;  // the health file, the last time
  std::jthread signs_of_life_;
};

}  // namespace mangrove::cli
