#include "mangrove/serve/pending_request.h"

#include <algorithm>

namespace mangrove::serve {

std::optional<RequestTimes> PendingRequest::finish(std::int64_t samples, Instant began, const BatchTimes& times) {
  const MutexLock lock(mutex_);
  began_ = std::min(began_.value_or(began), began);
  compute_.input += times.input;
  compute_.infer += times.infer;
  compute_.output += times.output;
  done_ += samples;
  if (done_ < content_.samples || std::exchange(is_claimed_, true)) return std::nullopt;
  return RequestTimes{.queue = *began_ - content_.arrival, .compute = compute_};
}

bool PendingRequest::claim() {
  const MutexLock lock(mutex_);
  return !std::exchange(is_claimed_, true);
}

void PendingRequest::answer(Result<InferenceResponse> response) {
  const AnswerSink answer = std::exchange(answer_, nullptr);
  answer(std::move(response));
}

}  // namespace mangrove::serve
