#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/cli/cluster_access.h"
#include "mangrove/cli/settings.h"
#include "mangrove/cluster/client.h"
#include "mangrove/cluster/local_cluster.h"
#include "mangrove/testbed/testbed.h"

namespace mangrove::cli {

/// The cluster that a command's jobs run on. Jobs with the same settings, one after the other, share one embedded
/// cluster or testbed. threads: the main thread only (embedded processes end with the thread that started them).
class ClusterSession {
 public:
  /// quiet: does not say where a cluster that it starts can be watched.
  explicit ClusterSession(bool quiet) : quiet_(quiet) {}

  /// Connects, starting the embedded cluster or the testbed if there is none that fits. The client belongs to the
  /// session.
  Result<cluster::Client*> connect(const ClusterSettings& settings, const fs::path& data_folder,
                                   const fs::path& log_folder, const std::stop_token& stop);

  /// The cluster is one that it has started, which ends with it; so does its certificate authority.
  bool ends_with_command() const { return local_ || testbed_; }

  /// What has died of the embedded cluster that it has started, in a sentence each.
  std::vector<std::string> deaths() const { return local_ ? local_->deaths() : std::vector<std::string>(); }

 private:
  /// Connects to the coordinator that the settings name or ask to be started.
  Result<std::unique_ptr<cluster::Client>> start(const ClusterSettings& settings, const fs::path& data_folder,
                                                 const fs::path& log_folder, const std::stop_token& stop);

  const bool quiet_;
  std::string key_;  // what the cluster was started or connected with
  std::unique_ptr<cluster::LocalCluster> local_;
  std::unique_ptr<testbed::Testbed> testbed_;
  std::unique_ptr<cluster::Client> client_;
};

}  // namespace mangrove::cli
