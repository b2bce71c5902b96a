#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/eventually.h"
#include "tests/cluster/scripted_role.h"
#include "tests/cluster/test_identity.h"
#include "tests/report_name.h"

#include "mangrove/cluster/client.h"
#include "mangrove/cluster/coordinator.h"
#include "mangrove/cluster/node.h"

namespace mangrove::cluster {

/// "node-1 alive, node-2 lost"
inline std::string states_of(const std::vector<NodeStatus>& nodes) {
  std::string text;
  for (const NodeStatus& node : nodes)
    text += (text.empty() ? "" : ", ") + node.description().name() + " " + node.state();
  return text;
}

/// A coordinator and nodes in this process, on free ports of the loopback, with certificates of test_authority().
struct TestCluster {
  /// Quick enough for a test, and slow enough for a machine with much else to do.
  static constexpr Seconds kHeartbeat = 0.1;
  static constexpr int kMisses = 20;

  explicit TestCluster(int count = 0, int misses = kMisses, RoleMain with = scripted_role, const fs::path& state = {})
      : play(std::move(with)) {
    options.listen = "127.0.0.1:0";
    options.heartbeat_interval = kHeartbeat;
    options.heartbeat_misses = misses;
    options.state_folder = state;
    options.credentials = test_credentials(identity::Role::coordinator, "coordinator");
    options.play = play;
    options.check = [](const JobSpec&) { return Status(); };  // scripts are no strategies
    start_coordinator();
    for (int i = 1; i <= count; ++i) add_node("node-" + std::to_string(i));
  }

  /// On the address that it had before.
  void start_coordinator() {
    auto started = Coordinator::start(options);
    if (!started.ok()) ADD_FAILURE() << started.error().message;
    coordinator = std::move(*started);
    options.listen = coordinator->address();
    watcher = client();
  }

  Node& add_node(const std::string& name, const data::DataFolder& data = {}, int threads = 1,
                 const std::vector<std::string>& labels = {}) {
    NodeOptions node;
    node.coordinator = coordinator->address();
    node.name = name;
    node.listen = "127.0.0.1:0";
    node.credentials = test_credentials(identity::Role::node, name);
    node.threads = threads;
    node.labels = labels;
    node.data_folder = data;
    node.play = play;
    auto started = Node::start(node);
    if (!started.ok()) ADD_FAILURE() << started.error().message;
    nodes.push_back(std::move(*started));
    return *nodes.back();
  }

  std::unique_ptr<Client> client(identity::Role role = identity::Role::client) const {
    auto connected = Client::connect(coordinator->address(), test_credentials(role, "somebody"));
    if (!connected.ok()) ADD_FAILURE() << connected.error().message;
    return std::move(*connected);
  }

  /// See states_of(). Over a connection that is there already: a handshake is too long a look where a node is lost
  /// within half a second.
  std::string listing() const {
    auto found = watcher->nodes();
    if (!found.ok()) {  // another coordinator
      watcher = client();
      found = watcher->nodes();
    }
    return states_of(*found);
  }

  /// The id of the job that came last and has not ended; "": there is none.
  std::string last_job() const {
    const auto status = client()->status({});
    return status.ok() && status->jobs_size() > 0 ? status->jobs().rbegin()->id() : "";
  }

  RoleMain play;
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
  mutable std::unique_ptr<Client> watcher;  // connected to it
  std::vector<std::unique_ptr<Node>> nodes;
};

/// A job of a client of its own, in a thread.
class RunningJob {
 public:
  RunningJob(const TestCluster& cluster, const JobSpec& job)
      : client_(cluster.client()), thread_([this, job] {
          status_ = client_->run(
              job,
              [this](const Report& report) {
                const std::lock_guard lock(mutex_);
                reports_.push_back(report);
              },
              stop_.get_token());
        }) {}
  ~RunningJob() { stop_.request_stop(); }

  void request_stop() { stop_.request_stop(); }
  Status wait() {
    thread_.join();
    return status_;
  }
  std::vector<Report> reports(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    std::vector<Report> found;
    for (const Report& report : reports_)
      if (report_name(report) == kind) found.push_back(report);
    return found;
  }
  bool has(const std::string& kind) { return !reports(kind).empty(); }

 private:
  std::unique_ptr<Client> client_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::vector<Report> reports_;
  Status status_;
  std::jthread thread_;
};

}  // namespace mangrove::cluster
