#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

namespace mangrove::cluster {

/// A program started by this one, in a process group of its own: Ctrl-C in the terminal does not reach it.
/// It is killed when the thread that started it ends, and so at the latest when this process does, however that comes.
/// threads: one at a time.
class ChildProcess {
 public:
  /// `log` gets its standard error (appended; empty: discarded); its standard input is `input`.
  /// errors: not_found, permission_denied, resource_exhausted (cannot be started; names it), those of opening the log.
  static Result<std::unique_ptr<ChildProcess>> start(const fs::path& program, const std::vector<std::string>& arguments,
                                                     const fs::path& log, std::string_view input = {});
  ~ChildProcess();  // kills it if it still runs, and reaps it

  pid_t pid() const { return pid_; }
  /// The next line of its standard output, without the end of line. errors: deadline_exceeded, unavailable (it closed
  /// its output or ended).
  Result<std::string> read_line(Deadline deadline);
  /// Asks it to end (SIGTERM), and wakes it if it is frozen.
  void terminate();
  /// Waits for its end. False: it still runs at the deadline.
  bool wait(Deadline deadline);
  /// After wait() has seen its end: its exit status, or 128 + the signal that ended it.
  int exit_status() const { return exit_status_; }
  /// The same for people: "exit status 1", "signal 9 (Killed)".
  std::string how_it_ended() const;

 private:
  ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}
  pid_t pid_;
  int output_;
  bool reaped_ = false;
  int exit_status_ = -1;
  std::string read_;  // of an unfinished line
};

}  // namespace mangrove::cluster
