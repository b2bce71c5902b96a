#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/cluster/job.h"
#include "mangrove/cluster/rate_limit.h"

namespace mangrove::cluster {

/// The jobs of a coordinator, from their coming to their end, each in a thread of its own. All are there at once; the
/// NodeAllocator says which have nodes.
/// threads: any thread may call any method.
class JobQueue {
 public:
  /// `prefix` makes the names of this coordinator's jobs unlike those of every other one. store: nullptr where jobs end
  /// with the coordinator.
  JobQueue(JobEnvironment surroundings, std::string prefix, JobStore* store);

  /// From now on jobs are taken; rank 0 is reached at this address. The jobs of the store that have not ended go on.
  void open(std::string own_address);

  /// Counts that this owner (see Job) wants to begin a job. errors: resource_exhausted (too many within a minute).
  Status take_turn(const std::string& owner);
  /// Runs the job of this owner; `follower` follows it from its first report on (see Job::follow).
  /// errors: those of JobEnvironment::check and, with certificates, of check_networks_of(), when nothing of the job is
  /// kept; resource_exhausted (too many jobs); unavailable (not open yet, or shutting down); those of the store.
  Result<std::shared_ptr<Job>> begin(JobSpec job, const std::string& owner, const void* follower, Reporter reporter);
  /// The job with this id, if it has not ended; else nullptr.
  std::shared_ptr<Job> find(const std::string& id) const;
  /// The job of which this is a run (see JobAttempt::id); nullptr: it has ended.
  std::shared_ptr<Job> find_run(const std::string& run_id) const;
  /// The jobs that have not ended, in the order in which they came.
  std::vector<std::shared_ptr<Job>> all() const;
  /// Calls this for the present run of each of them.
  void each_run(const std::function<void(JobAttempt&)>& call) const;
  /// Lists the jobs of the store and the jobs that are not kept, the newest first. may_read: see JobStore::list().
  Result<std::vector<JobStatus>> list(const std::function<bool(const std::string& owner)>& may_read) const;
  /// nullptr: there is none.
  JobStore* store() const { return store_; }

  /// Takes no more jobs, and stops all in good order. Returns when they have ended or at the deadline.
  void shutdown(Deadline deadline);

 private:
  struct Slot {
    std::shared_ptr<Job> job;
    bool is_over = false;
    std::jthread runner{};
  };
  void launch(std::shared_ptr<Job> job) MG_REQUIRES(mutex_);
  void run(Slot& slot);
  /// Whether one more job of this owner is taken. errors: unavailable, resource_exhausted.
  Status check_room(const std::string& owner) const MG_REQUIRES(mutex_);
  bool are_all_over() const MG_REQUIRES(mutex_);

  const std::string prefix_;
  JobStore* const store_;
  const JobCheck check_;
  const Clock& clock_;
  const std::shared_ptr<const net::Credentials> credentials_;  // null: plain text
  RateLimit begins_{"jobs of one client", 120};
  mutable Mutex mutex_;
  Condition changed_;
  JobEnvironment surroundings_ MG_GUARDED_BY(mutex_);
  std::uint64_t jobs_ MG_GUARDED_BY(mutex_) = 0;
  bool open_ MG_GUARDED_BY(mutex_) = false;
  std::list<Slot> slots_ MG_GUARDED_BY(mutex_);  // those that are over stay until the next one comes
};

}  // namespace mangrove::cluster
