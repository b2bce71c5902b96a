#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/batch_queue.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_counters.h"
#include "mangrove/serve/pending_request.h"

namespace mangrove::serve {

struct IntakeOptions {
  BatchQueueOptions queue;
  Seconds max_wait = 0;                                                 // that a request waits for others
  std::int64_t max_samples = std::numeric_limits<std::int64_t>::max();  // of one request
};

/// The way of requests into a model and out of it, whatever computes them: a request is compared with the model, waits
/// in a bounded queue, is counted, and is answered once.
/// threads: any thread may call any method.
class RequestIntake {
 public:
  RequestIntake(ModelMetadata metadata, const IntakeOptions& options);

  const ModelMetadata& metadata() const { return metadata_; }
  ModelStatistics statistics() const;

  /// Lets a request wait, or answers it with one of the errors of Model::infer(). It waits for others no longer than
  /// max_wait, and than half of the time to its deadline.
  void submit(const InferenceRequest& request, AnswerSink answer);
  /// Waits for the next batch as BatchQueue::take() does, and answers the requests whose deadlines have passed. The
  /// batch may be empty. Nothing: the intake is closed and empty.
  std::optional<std::vector<BatchPart>> take();

  void count_batch(std::int64_t samples, const BatchTimes& times) { counters_.add_batch(samples, times); }
  /// The results of these samples are written; they were in a batch that began then. The last samples of a request
  /// answer it.
  void finish(const BatchPart& part, Instant began, const BatchTimes& times);
  /// A sample was computed exit by exit, beside the queue, until it left; or an exit could not be computed.
  void count_exits(const RequestTimes& times, bool has_left);
  /// Answers a request with an error, unless it is answered already.
  void fail(PendingRequest& request, const Error& error);
  /// The same: its deadline has passed.
  void expire(PendingRequest& request);

  /// Refuses requests from now on; those that wait are still to be taken.
  void close() { queue_.close(); }

 private:
  Result<RequestContent> content_of(const InferenceRequest& request, Instant arrival) const;

  const ModelMetadata metadata_;
  const IntakeOptions options_;
  const SteadyClock clock_;
  BatchQueue queue_;
  ModelCounters counters_;
};

}  // namespace mangrove::serve
