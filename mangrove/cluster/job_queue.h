#pragma once

#include <memory>
#include <string>
#include <thread>

#include "mangrove/cluster/job.h"
#include "mangrove/cluster/rate_limit.h"

namespace mangrove::cluster {

/// Where the coordinator's one job runs, in a thread of the slot.
/// threads: any thread may call any method.
class JobQueue {
 public:
  /// `prefix` makes the names of this coordinator's jobs unlike those of every other one. store: nullptr where jobs end
  /// with the coordinator.
  JobQueue(JobEnvironment surroundings, std::string prefix, JobStore* store);

  /// From now on jobs are taken; rank 0 is reached at this address. A job of the store that has not ended goes on.
  void open(std::string own_address);

  /// Counts that this owner (see Job) wants to begin a job. errors: resource_exhausted (too many within a minute).
  Status take_turn(const std::string& owner);
  /// Runs the job of this owner; `follower` follows it from its first report on (see Job::follow).
  /// errors: those of JobEnvironment::check and, with certificates, of check_networks_of(), when nothing of the job is
  /// kept; failed_precondition (busy); unavailable
  /// (not open yet, or shutting down); those of the store.
  Result<std::shared_ptr<Job>> begin(JobSpec job, const std::string& owner, const void* follower, Reporter reporter);
  /// The job that runs, if it is this one; else nullptr.
  std::shared_ptr<Job> find(const std::string& id) const;
  /// nullptr: none runs.
  std::shared_ptr<Job> running() const;
  std::shared_ptr<JobAttempt> current() const;  // the present run of that job
  /// nullptr: there is none.
  JobStore* store() const { return store_; }

  /// Takes no more jobs, and stops the one that runs in good order. Returns when it has ended or at the deadline.
  void shutdown(Deadline deadline);

 private:
  void launch(std::shared_ptr<Job> job) MG_REQUIRES(mutex_);

  const std::string prefix_;
  JobStore* const store_;
  const JobCheck check_;
  const Clock& clock_;
  const std::shared_ptr<const net::Credentials> credentials_;  // null: plain text
  RateLimit begins_{"jobs of one client", 120};
  mutable Mutex mutex_;
  Condition changed_;
  JobEnvironment surroundings_ MG_GUARDED_BY(mutex_);
  std::shared_ptr<Job> current_ MG_GUARDED_BY(mutex_);
  std::uint64_t jobs_ MG_GUARDED_BY(mutex_) = 0;
  bool open_ MG_GUARDED_BY(mutex_) = false;
  std::jthread runner_ MG_GUARDED_BY(mutex_);  // of the last job
};

}  // namespace mangrove::cluster
