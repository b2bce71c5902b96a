#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/paths.h"

#include "mangrove/base/units.h"

namespace mangrove::testing {

/// A program run by a test, with its standard output and standard error caught in memory. Killed with the object if it
/// still runs.
class Process {
 public:
  /// `arguments[0]` is the path of the program; `environment` holds NAME=VALUE to add.
  explicit Process(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;

  /// Waits for the end: the exit status, 128 + the signal that ended it, or -1 where it has not ended in time.
  int wait(Seconds timeout);
  /// Waits until `condition` holds for what has been printed so far, or the program has ended, or the time is over.
  bool wait_until(const std::function<bool()>& condition, Seconds timeout);

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  void drain(Seconds timeout);
  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  int status_ = -1;  // as wait() gives it, once ended
  std::string out_;
  std::string err_;
};

/// What a program that runs to its end leaves.
struct Finished {
  int status;
  std::string out;
  std::string err;
};
Finished run_program(std::vector<std::string> arguments, Seconds timeout = 60,
                     std::vector<std::string> environment = {});

/// The processes whose parent is `parent`, straight or through others, at this moment.
std::vector<pid_t> descendants(pid_t parent);
bool is_running(pid_t pid);

}  // namespace mangrove::testing
