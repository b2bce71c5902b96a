#pragma once

#include <cstdint>

#include "mangrove/base/mutex.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/pending_request.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// Counts what a model does. A request counts once, with the times of all batches that its samples were in.
/// threads: any thread may call any method.
class ModelCounters {
 public:
  void add_batch(std::int64_t samples, const BatchTimes& times);
  /// took: from its arrival on.
  void add_success(std::int64_t samples, const RequestTimes& times, Seconds took);
  void add_failure(Seconds took);
  /// One that found the queue full: a failure too.
  void add_refusal(Seconds took);

  /// Without `waiting`.
  ModelStatistics read() const;

 private:
  Traffic latencies_;
  mutable Mutex mutex_;
  ModelStatistics counts_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::serve
