#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

struct LocalNode {
  std::string name;                   // in the cluster, and of its log
  std::string host = "127.0.0.1";     // where it listens
  std::vector<std::string> within{};  // a program and its arguments that run the command behind them in a special place
                                      // (by exec: a process that they fork would outlive the cluster); empty: here
};

/// node-1 .. node-N, on the loopback address.
std::vector<LocalNode> local_nodes(int count);

struct LocalClusterOptions {
  fs::path program;                // the mangrove program; empty: /proc/self/exe
  std::string host = "127.0.0.1";  // where the coordinator listens
  std::vector<LocalNode> nodes;
  int threads = 1;  // per node, for kernels
  fs::path data_folder;
  fs::path log_folder;    // standard error of each process goes to coordinator.log, NODE.log; empty: discarded
  bool insecure = false;  // the links are in plain text, and everybody who reaches them may do everything
};

/// A coordinator and N nodes as processes on this machine: what --local N starts. Their links are encrypted, with
/// certificates of an authority that is made for them and forgotten, unless `insecure` is set. The processes end with
/// the LocalCluster, and also when this process is killed: none is ever left behind.
class LocalCluster {
 public:
  /// Returns when every node has joined. errors: invalid_argument (nodes < 1), resource_exhausted, deadline_exceeded (a
  /// process did not come up; quotes the end of its log), unavailable (one died before the last had joined).
  static Result<std::unique_ptr<LocalCluster>> start(const LocalClusterOptions& options);
  ~LocalCluster();

  const std::string& coordinator() const;                       // HOST:PORT
  std::shared_ptr<const net::Credentials> credentials() const;  // of the cluster's admin; null: plain text
  const std::vector<pid_t>& node_pids() const;
  /// Of each process that has died since, a sentence that names it and says how.
  std::vector<std::string> deaths() const;

 private:
  struct Impl;
  explicit LocalCluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster
