#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// How long one batch took: to collect its samples, to compute, and to hand the results out.
struct BatchTimes {
  Seconds input = 0, infer = 0, output = 0;
};

/// How long a request took: until its first sample was computed, and the batches that its samples were in.
struct RequestTimes {
  Seconds queue = 0;
  BatchTimes compute;
};

/// What a request has and wants.
struct RequestContent {
  std::vector<Tensor> inputs;        // in the model's order
  std::vector<std::size_t> outputs;  // positions in the model of those that are wanted
  std::vector<Tensor> results = {};  // parallel to outputs; zeros at first
  std::int64_t samples = 1;
  Bytes bytes = 0;  // of inputs and results
  int priority = 0;
  Instant arrival = {};
  Instant latest_start = {};  // it does not wait longer for others
  Deadline deadline = Deadline::never();
};

/// A request on its way through a model: it waits, its samples are computed in one batch or in parts of several, and it
/// is answered once.
/// threads: any; parts are different samples, so that instances may write to results() at once.
class PendingRequest {
 public:
  PendingRequest(RequestContent content, AnswerSink answer)
      : content_(std::move(content)), answer_(std::move(answer)) {}

  const RequestContent& content() const { return content_; }
  std::vector<Tensor>& results() { return content_.results; }

  /// So many more samples are computed, in a batch that began then. Returns the times when these were the last ones and
  /// nobody has answered yet: who gets them must call answer().
  std::optional<RequestTimes> finish(std::int64_t samples, Instant began, const BatchTimes& times);
  /// Whether nobody has answered yet: who gets true must call answer().
  bool claim();
  /// Calls the sink, which is gone then.
  void answer(Result<InferenceResponse> response);

 private:
  RequestContent content_;
  AnswerSink answer_;
  Mutex mutex_;
  bool is_claimed_ MG_GUARDED_BY(mutex_) = false;
  std::int64_t done_ MG_GUARDED_BY(mutex_) = 0;  // samples
  std::optional<Instant> began_ MG_GUARDED_BY(mutex_);
  BatchTimes compute_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::serve
