#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/cluster/step_log.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/job/machine.h"
#include "mangrove/net/grpc_transport.h"

namespace mangrove::cluster {

/// What every role on a node works with.
struct RoleEnvironment {
  net::GrpcTransport& transport;
  Clock& clock;
  data::DataFolder data_folder;
  int threads = 1;  // for kernels
  RoleMain play;
};

/// How a role gets its job and says that it has ended. Must outlive the role.
/// threads: called by the role's thread.
class RoleHost {
 public:
  virtual ~RoleHost() = default;
  virtual Result<JobSpec> fetch_job(const std::string& job_id, const std::stop_token& stop) = 0;
  virtual void role_ended(RoleEnded ended) = 0;
};

/// The roles of one node, each in a thread of its own: one for each job that has a share of the node, and those that
/// take a moment to end.
/// threads: any thread may call any method.
class RoleRunner {
 public:
  explicit RoleRunner(RoleEnvironment surroundings) : around_(std::move(surroundings)) {}
  ~RoleRunner() { end_all(); }

  /// Returns at once. `own_address` is the node's, `coordinator` where the node reaches rank 0. A role that cannot
  /// start has ended with invalid_argument (a start that makes no sense) or already_exists (the node has that role).
  void start(const StartRole& start, const std::string& own_address, const std::string& coordinator, RoleHost& host);
  /// The role shall end, whatever it is doing. Returns at once.
  void end(const std::string& job_id);
  /// Ends all roles and returns when they have ended.
  void end_all();
  void members_changed(const MembersChanged& news, const std::string& coordinator);

  /// Adds the bytes that all roles have sent and received since the node started, the steps of the newest role that
  /// runs, and the steps and messages of each role that runs.
  void add_use(ResourceUse& use) const;

 private:
  /// By the name of the peer's node: ranks are a job's own.
  using Flows = std::map<std::pair<std::string, net::Purpose>, net::Flow>;
  struct Role {
    std::string job_id;
    net::Rank rank = 0;
    std::unique_ptr<net::Endpoint> endpoint;
    StepLog steps{};
    Flows flows{};  // when the endpoint is gone
    bool over = false;
    std::jthread thread;
  };
  void play(Role& role, const std::stop_token& stop, RoleHost& host);
  int threads_for(const JobSpec& job) const;
  void reap() MG_REQUIRES(mutex_);
  static Flows flows_of(const net::Endpoint& endpoint);

  const RoleEnvironment around_;
  mutable Mutex mutex_;
  std::list<Role> roles_ MG_GUARDED_BY(mutex_);
  net::Flow past_ MG_GUARDED_BY(mutex_);  // of roles that are not in the list any more
};

}  // namespace mangrove::cluster
