#pragma once

#include <deque>

#include "mangrove/base/mutex.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::cluster {

/// The steps of one role, for heartbeats: the sums, and the last few in full.
/// threads: any thread may call any method.
class StepLog {
 public:
  void add(const job::StepTimes& step);
  StepUse use(Instant now) const;

 private:
  static constexpr std::size_t kRecent = 8;  // a heartbeat stays small

  mutable Mutex mutex_;
  std::int64_t count_ MG_GUARDED_BY(mutex_) = 0;
  job::StepTimes total_ MG_GUARDED_BY(mutex_);
  std::deque<job::StepTimes> recent_ MG_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace mangrove::cluster
