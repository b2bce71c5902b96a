#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/pending_request.h"

namespace mangrove::serve {

/// Samples of one request that are computed in one batch.
struct BatchPart {
  std::shared_ptr<PendingRequest> request;
  std::int64_t first = 0;  // of the request's samples
  std::int64_t count = 0;
};

std::int64_t samples_of(std::span<const BatchPart> parts);
/// Takes the parts with the first `count` samples away; one that has more is cut.
std::vector<BatchPart> take_samples(std::vector<BatchPart>& parts, std::int64_t count);

/// What an instance does next.
struct Batch {
  std::vector<BatchPart> parts;                          // in the order of their rows; may be none
  std::vector<std::shared_ptr<PendingRequest>> expired;  // their deadlines have passed while they waited
};

struct BatchQueueOptions {
  std::int64_t max_batch = 16;       // samples of a batch
  bool combines = true;              // samples of several requests may be in one batch
  std::int64_t max_requests = 1000;  // that wait
  Bytes max_bytes = 256'000'000;     // of all requests that are not answered yet
};

/// Requests that wait for an instance: those of a higher priority first, then in the order of their arrival. A request
/// of more samples than are left in a batch is computed in parts.
/// threads: any thread may call any method.
class BatchQueue {
 public:
  explicit BatchQueue(const BatchQueueOptions& options) : options_(options) {}

  /// errors: resource_exhausted (the queue is full), unavailable (it is closed).
  Status push(std::shared_ptr<PendingRequest> request);

  /// Waits for a batch: until there are max_batch samples, or a request has waited as long as it may. Of requests that
  /// do not combine, and once the queue is closed, it waits for nothing more. Nothing: the queue is closed and empty.
  std::optional<Batch> take();

  /// A request that was taken is answered: its bytes are free again.
  void release(Bytes bytes);

  /// No more requests are accepted; those that wait are still to be taken.
  void close();

  std::int64_t waiting() const;  // requests

 private:
  struct Place {
    int priority = 0;
    std::uint64_t number = 0;  // in the order of arrival
    bool operator<(const Place& other) const {
      return priority != other.priority ? priority > other.priority : number < other.number;
    }
  };
  struct Waiting {
    std::shared_ptr<PendingRequest> request;
    std::int64_t taken = 0;  // samples
    std::int64_t left() const { return request->content().samples - taken; }
  };
  using Requests = std::map<Place, Waiting>;

  Status check_room(const RequestContent& content) const MG_REQUIRES(mutex_);
  void remove(Requests::iterator entry) MG_REQUIRES(mutex_);
  void take_expired(Instant now, Batch& batch) MG_REQUIRES(mutex_);
  Instant start_of_batch(Instant now) const MG_REQUIRES(mutex_);
  void fill(Batch& batch) MG_REQUIRES(mutex_);

  const BatchQueueOptions options_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  Condition changed_;
  Requests waiting_ MG_GUARDED_BY(mutex_);
  std::set<std::pair<Instant, Place>> deadlines_ MG_GUARDED_BY(mutex_);  // of those that have one
  std::int64_t samples_ MG_GUARDED_BY(mutex_) = 0;                       // that wait
  Bytes bytes_ MG_GUARDED_BY(mutex_) = 0;
  std::uint64_t arrived_ MG_GUARDED_BY(mutex_) = 0;
  bool is_closed_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::serve
