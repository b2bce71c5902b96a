#include "mangrove/serve/protocol/ask.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mangrove/base/mutex.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kLongestWait = 3600;  // between two looks whether there is an answer

/// An answer that comes after its deadline is late, whatever it says: nobody waits for it any more.
void count(const Result<InferenceResponse>& answer, Instant came, Deadline deadline, Traffic& traffic) {
  const Instant now = SteadyClock().now();
  if (answer.ok() && now <= deadline) return traffic.answered(now - came);
  if (answer.ok()) return traffic.late();
  switch (answer.code()) {
    case Code::resource_exhausted:
      return traffic.refused();
    case Code::deadline_exceeded:
      return traffic.late();
    default:
      return traffic.failed();
  }
}

/// An answer that somebody waits for. The model may give it after he has gone.
class Answer {
 public:
  void set(Result<InferenceResponse> answer) {
    const MutexLock lock(mutex_);
    answer_ = std::move(answer);
    changed_.notify_one();
  }
  void stop() {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_one();
  }

  Result<InferenceResponse> wait(Deadline deadline) {
    const SteadyClock clock;
    const MutexLock lock(mutex_);
    for (;;) {
      if (answer_) return *std::exchange(answer_, std::nullopt);
      if (is_stopped_) return make_error(Code::unavailable, "the server is being stopped");
      const Seconds left = deadline - clock.now();
      if (left <= 0) return make_error(Code::deadline_exceeded, "there was no answer by the request's deadline");
      changed_.wait_for(mutex_, std::min(left, kLongestWait));
    }
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::optional<Result<InferenceResponse>> answer_ MG_GUARDED_BY(mutex_);
  bool is_stopped_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace

void ask(Model& model, InferenceRequest request, Instant came, const std::shared_ptr<Traffic>& traffic,
         AnswerSink answer) {
  const Deadline deadline = request.deadline;
  model.infer(std::move(request),
              [came, deadline, traffic, answer = std::move(answer)](Result<InferenceResponse> result) {
                count(result, came, deadline, *traffic);
                answer(std::move(result));
              });
}

Result<InferenceResponse> ask_and_wait(const std::shared_ptr<Model>& model, InferenceRequest request, Instant came,
                                       const std::shared_ptr<Traffic>& traffic, const std::stop_token& stop) {
  const auto waiting = std::make_shared<Answer>();
  const std::stop_callback on_stop(stop, [waiting] { waiting->stop(); });
  const Deadline deadline = request.deadline;
  ask(*model, std::move(request), came, traffic,
      [waiting](Result<InferenceResponse> result) { waiting->set(std::move(result)); });
  return waiting->wait(deadline);
}

}  // namespace mangrove::serve
