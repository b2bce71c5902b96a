#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/net/credentials.h"
#include "mangrove/testbed/board_file.h"
#include "mangrove/testbed/slot.h"

namespace mangrove::testbed {

struct TestbedOptions {
  fs::path file;               // the board file
  fs::path program;            // the mangrove program; empty: /proc/self/exe
  std::size_t boards = 0;      // only the first so many of the file; 0: all
  bool limits_or_fail = true;  // false: a limit that cannot be set is left out, with a warning
  int threads = 1;             // of each node, for kernels
  fs::path data_folder;
  fs::path log_folder;    // standard error of each process goes to coordinator.log, NAME.log; empty: discarded
  bool insecure = false;  // the links are in plain text
};

/// A coordinator on this machine, and in each board of a file a node: a real process, held to the board's share of the
/// processor and its memory by control groups, in a network namespace of its own behind a link of the board's rate,
/// delay, jitter and loss. All of it goes with the Testbed. If this process is killed, the processes die with it, and
/// the next testbed on this machine removes the rest. threads: one at a time.
class Testbed {
 public:
  /// Returns when every node has joined.
  /// errors: those of load_boards; invalid_argument (the file has fewer boards); permission_denied (limits cannot be
  /// set: says which, and why); those of LocalCluster::start.
  static Result<std::unique_ptr<Testbed>> start(const TestbedOptions& options);
  ~Testbed();

  const Record& record() const;
  std::shared_ptr<const net::Credentials> credentials() const;  // of the cluster's admin; null: plain text

 private:
  struct Impl;
  explicit Testbed(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::testbed
