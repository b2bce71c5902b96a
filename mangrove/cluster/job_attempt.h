#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/report.h"
#include "mangrove/cluster/admission.h"
#include "mangrove/cluster/job_checks.h"
#include "mangrove/cluster/job_members.h"
#include "mangrove/cluster/job_record.h"
#include "mangrove/cluster/membership.h"
#include "mangrove/cluster/node_allocator.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/job/frame_queue.h"
#include "mangrove/job/machine.h"
#include "mangrove/net/credentials.h"
#include "mangrove/net/grpc_transport.h"

namespace mangrove::cluster {

/// What every job of a coordinator works with.
struct JobEnvironment {
  Membership& membership;
  NodeAllocator& allocator;
  net::GrpcTransport& transport;
  Clock& clock;
  std::string own_address{};                              // of rank 0
  std::shared_ptr<const net::Credentials> credentials{};  // of rank 0, the coordinator; null: plain text
  Seconds silence_limit = 3;                              // a node that is silent for longer is lost
  data::DataFolder data_folder{};                         // of rank 0
  JobCheck check;                                         // of a job before it is taken
  RoleMain play;
};

/// One job from its request to its end: waits for nodes (see Admission), gives them their roles (see JobMembers), plays
/// rank 0, follows the membership, and hands on reports (see JobRecord). Nodes that join a training job while it runs
/// get the next free ranks, as long as the job has fewer nodes than it asked for; a node that was lost and joins again
/// is one of them. What nodes the job gets of those that there are, and when it gives some to others, says the
/// NodeAllocator. A node that does not confirm for ten times the silence limit that it has heard of newcomers is left
/// out, since they wait for it. When the job has ended, the membership hears which nodes did nothing in it.
/// threads: one calls run(); any thread may call the others.
class JobAttempt {
 public:
  /// What the run tells others. Called from several threads.
  struct Listener {
    Reporter report;
    std::function<void(const net::Members&)> members;  // where they have changed
  };
  /// nodes_before: see Admission.
  JobAttempt(std::string id, JobSpec job, const JobEnvironment& surroundings, Listener listener,
             std::optional<std::size_t> nodes_before = {});

  const std::string& id() const { return id_; }
  const JobSpec& job() const { return job_; }
  /// The job as nodes get it: without networks that they may have already.
  const JobSpec& job_of_nodes() const { return job_of_nodes_ ? *job_of_nodes_ : job_; }

  /// Whether a node with this subject takes part in the job.
  bool is_for(const std::string& subject) const;

  /// Returns when the job has ended on this machine and, within a short bound, on its nodes.
  /// errors: those of Admission and of the job.
  Status run();
  /// It ended because all its nodes were lost or have left, none because it could not do its part.
  bool has_lost_everyone() const;
  /// The job shall end in good order. It is cancelled if that takes longer than 20 s.
  void request_stop();

  /// From now on this scheduler divides the job's tasks among tiers.
  /// errors: those of check_switch(); failed_precondition (it has ended).
  Status switch_scheduler(const std::string& scheduler);

  /// Where the client's frames go. Null: it asks for none.
  job::FrameQueue* frames() { return job_.infer().frames() ? &frames_ : nullptr; }

  // News of the nodes.
  void member_joined();
  void member_gone(MemberId member, MemberState state);
  void role_ended(MemberId member, const RoleEnded& ended);
  void members_known(MemberId member, const MembersKnown& known);
  void resources_used(MemberId member, const ResourceUse& use);

  /// Adds what the job is, and which roles nodes have in it. job: its id for people.
  void describe(const std::string& job, ListNodesResponse& response) const;
  bool is_waiting() const;                  // for its first nodes
  std::vector<std::string> events() const;  // JSON, so far

 private:
  Status run_whole();
  Result<std::vector<Member>> wait_for_nodes();
  void assign_ranks(const std::vector<Member>& nodes);
  Status lead();
  void supervise(net::Endpoint& endpoint);
  void end_roles();
  Status finish(Status led);
  void on_report(Report report);
  void admit_newcomers();
  void give_up_nodes();
  void start_newcomers();
  void leave_out_unaware();
  void publish();
  void report_nodes();
  void set_idle(net::Rank rank, bool is_idle);
  void count_idle();
  void add_event(const NodeEventKind& kind, const std::string& node, const std::string& message = {})
      MG_REQUIRES(mutex_);
  void lose(MemberId member, MemberState state) MG_REQUIRES(mutex_);

  const std::string id_;
  const JobSpec job_;
  std::optional<const JobSpec> job_of_nodes_;  // where it is another
  const JobEnvironment around_;
  const Listener listener_;
  Admission admission_;  // of the thread of run()
  job::FrameQueue frames_;
  job::Machine device_;
  std::stop_source stop_;

  mutable Mutex mutex_;
  Condition changed_;
  JobMembers members_ MG_GUARDED_BY(mutex_);
  JobRecord record_ MG_GUARDED_BY(mutex_);
  bool waits_ MG_GUARDED_BY(mutex_) = true;               // for its first nodes
  bool news_ MG_GUARDED_BY(mutex_) = false;               // for supervise()
  std::map<net::Rank, bool> idle_ MG_GUARDED_BY(mutex_);  // see RoleContext::idle
  /// Of nodes that newcomers wait for: the version that each knows, and since when there has been none that is newer.
  std::map<MemberId, std::pair<std::uint64_t, Instant>> unaware_ MG_GUARDED_BY(mutex_);
  std::optional<Error> first_role_error_ MG_GUARDED_BY(mutex_);
  std::optional<Instant> stop_requested_ MG_GUARDED_BY(mutex_);
  net::Endpoint* leader_ MG_GUARDED_BY(mutex_) = nullptr;    // of rank 0, while it plays
  std::vector<std::string> commands_ MG_GUARDED_BY(mutex_);  // for it, that came before
  bool led_ MG_GUARDED_BY(mutex_) = false;                   // rank 0 has ended
};

}  // namespace mangrove::cluster
