#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

namespace mangrove::cluster {

struct LocalClusterOptions {
  fs::path program;  // the mangrove program; empty: /proc/self/exe
  int nodes = 1;
  int threads = 1;  // per node, for kernels
  fs::path data_folder;
  fs::path log_folder;  // standard error of each process goes to coordinator.log, node-1.log, ...; empty: discarded
};

/// A coordinator and N nodes as processes on this machine: what --local N starts. They end with the LocalCluster, and,
/// if this process is killed, with it: none is ever left behind.
class LocalCluster {
 public:
  /// Returns when every node has joined. errors: invalid_argument (nodes < 1), resource_exhausted, deadline_exceeded (a
  /// process did not come up; quotes the end of its log).
  static Result<std::unique_ptr<LocalCluster>> start(const LocalClusterOptions& options);
  ~LocalCluster();

  const std::string& coordinator() const;  // HOST:PORT
  const std::vector<pid_t>& node_pids() const;

 private:
  struct Impl;
  explicit LocalCluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster
