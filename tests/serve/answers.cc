#include "tests/serve/answers.h"

#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/clock.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kLongest = 60;

}  // namespace

AnswerSink Answers::sink(const std::string& name) const {
  return [kept = kept_, name](Result<InferenceResponse> answer) {
    const MutexLock lock(kept->mutex);
    MG_CHECK_MSG(kept->answers.emplace(name, std::move(answer)).second, "answered twice: " + name);
    kept->order.push_back(name);
    kept->came.notify_all();
  };
}

Result<InferenceResponse> Answers::wait(const std::string& name) const {
  const SteadyClock clock;
  const Deadline deadline = clock.after(kLongest);
  const MutexLock lock(kept_->mutex);
  while (!kept_->answers.contains(name)) {
    MG_CHECK_MSG(clock.now() < deadline, "no answer: " + name);
    kept_->came.wait_for(kept_->mutex, deadline - clock.now());
  }
  return kept_->answers.at(name);
}

bool Answers::has(const std::string& name) const {
  const MutexLock lock(kept_->mutex);
  return kept_->answers.contains(name);
}

std::vector<std::string> Answers::order() const {
  const MutexLock lock(kept_->mutex);
  return kept_->order;
}

AnswerSink Gate::sink() const {
  return [state = state_](const Result<InferenceResponse>&) {
    const MutexLock lock(state->mutex);
    state->is_held = true;
    state->changed.notify_all();
    while (!state->is_open) state->changed.wait_for(state->mutex, kLongest);
  };
}

void Gate::wait_until_held() const {
  const SteadyClock clock;
  const Deadline deadline = clock.after(kLongest);
  const MutexLock lock(state_->mutex);
  while (!state_->is_held) {
    MG_CHECK_MSG(clock.now() < deadline, "no answer at the gate");
    state_->changed.wait_for(state_->mutex, deadline - clock.now());
  }
}

void Gate::open() {
  const MutexLock lock(state_->mutex);
  state_->is_open = true;
  state_->changed.notify_all();
}

}  // namespace mangrove::serve
