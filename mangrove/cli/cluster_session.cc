#include "mangrove/cli/cluster_session.h"

#include <fmt/format.h>

namespace mangrove::cli {

Result<cluster::Client*> ClusterSession::connect(const ClusterSettings& settings, const fs::path& data_folder,
                                                 const fs::path& log_folder) {
  const bool embedded = settings.coordinator.empty();
  const std::string key = embedded
                              ? fmt::format("local {} x {} {}", settings.local, settings.threads, data_folder.string())
                              : "remote " + settings.coordinator;
  if (client_ && key == key_) return client_.get();
  client_.reset();
  local_.reset();
  std::string address = settings.coordinator;
  if (embedded) {
    cluster::LocalClusterOptions options;
    options.nodes = static_cast<int>(settings.local);
    options.threads = static_cast<int>(settings.threads);
    options.data_folder = data_folder;
    options.log_folder = log_folder;
    MG_TRY(local_, cluster::LocalCluster::start(options).context("embedded cluster"));
    address = local_->coordinator();
  }
  MG_TRY(client_, cluster::Client::connect(address));
  key_ = key;
  return client_.get();
}

}  // namespace mangrove::cli
