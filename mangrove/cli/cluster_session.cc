#include "mangrove/cli/cluster_session.h"

#include <fmt/format.h>

#include <cstdio>

namespace mangrove::cli {

Result<cluster::Client*> ClusterSession::connect(const ClusterSettings& settings, const fs::path& data_folder,
                                                 const fs::path& log_folder, const std::stop_token& stop) {
  if (!settings.coordinator.empty() && !settings.testbed.empty())
    return make_error(Code::invalid_argument, "a job runs on one cluster: give coordinator or testbed, not both");
  const std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", settings.coordinator, settings.testbed,
                                      settings.nodes, settings.no_limits, settings.local, settings.threads,
                                      data_folder.string(), settings.identity, settings.insecure);
  if (client_ && key == key_) return client_.get();
  client_.reset();
  local_.reset();
  testbed_.reset();
  MG_TRY(client_, start(settings, data_folder, log_folder, stop));
  key_ = key;
  if (settings.coordinator.empty() && !quiet_)
    std::fprintf(stderr, "watch it with: mangrove top --coordinator %s\n", client_->coordinator().c_str());
  return client_.get();
}

Result<std::unique_ptr<cluster::Client>> ClusterSession::start(const ClusterSettings& settings,
                                                               const fs::path& data_folder, const fs::path& log_folder,
                                                               const std::stop_token& stop) {
  if (!settings.coordinator.empty())
    return connect_client({settings.coordinator, settings.identity, settings.insecure}, stop);
  if (!settings.testbed.empty()) {
    testbed::TestbedOptions options;
    options.file = settings.testbed;
    options.boards = static_cast<std::size_t>(settings.nodes);
    options.limits_or_fail = !settings.no_limits;
    options.threads = static_cast<int>(settings.threads);
    options.data_folder = data_folder;
    options.log_folder = log_folder;
    options.insecure = settings.insecure;
    MG_TRY(testbed_, testbed::Testbed::start(options).context("testbed"));
    return cluster::Client::connect(testbed_->record().coordinator, testbed_->credentials());
  }
  cluster::LocalClusterOptions options;
  options.nodes = cluster::local_nodes(static_cast<int>(settings.local));
  options.threads = static_cast<int>(settings.threads);
  options.data_folder = data_folder;
  options.log_folder = log_folder;
  options.insecure = settings.insecure;
  MG_TRY(local_, cluster::LocalCluster::start(options).context("embedded cluster"));
  return cluster::Client::connect(local_->coordinator(), local_->credentials());
}

}  // namespace mangrove::cli
