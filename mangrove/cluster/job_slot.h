#pragma once

#include <memory>
#include <string>

#include "mangrove/cluster/job_run.h"

namespace mangrove::cluster {

/// Where the coordinator's one job runs.
/// threads: any thread may call any method.
class JobSlot {
 public:
  /// `prefix` makes the names of this coordinator's jobs unlike those of every other one.
  JobSlot(JobSurroundings surroundings, std::string prefix);

  /// From now on jobs are taken; rank 0 is reached at this address.
  void open(std::string own_address);

  /// Takes the slot; the caller then runs the job, and frees the slot with ended().
  /// errors: failed_precondition (busy), unavailable (not open yet, shutting down).
  Result<std::shared_ptr<JobRun>> begin(Job job, Reporter report);
  void ended();
  /// nullptr: none runs.
  std::shared_ptr<JobRun> current() const;

  /// Takes no more jobs, and stops the one that runs in good order. Returns when it has ended or at the deadline.
  void shutdown(Deadline deadline);

 private:
  const std::string prefix_;
  mutable Mutex mutex_;
  Condition changed_;
  JobSurroundings surroundings_ MG_GUARDED_BY(mutex_);
  std::shared_ptr<JobRun> current_ MG_GUARDED_BY(mutex_);
  std::uint64_t jobs_ MG_GUARDED_BY(mutex_) = 0;
  bool open_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
