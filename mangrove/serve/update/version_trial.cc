#include "mangrove/serve/update/version_trial.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/serve/protocol/image_classifier.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kMostLatencies = 10'000;  // of the old version: the last ones
constexpr Seconds kLookAgainEvery = 3600;

template <class T>
bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.as<T>(), [](T value) { return std::isfinite(value); });
}

bool has_numbers(const InferenceResponse& response) {
  return std::ranges::all_of(response.outputs, [](const NamedTensor& output) {
    const Tensor& tensor = output.tensor;
    if (tensor.dtype() == DType::f32) return all_finite<float>(tensor);
    return tensor.dtype() != DType::f64 || all_finite<double>(tensor);
  });
}

/// Errors that are those of the client say nothing of the version.
bool is_failure(const Result<InferenceResponse>& answer) {
  if (answer.ok()) return !has_numbers(*answer);
  switch (answer.code()) {
    case Code::invalid_argument:
    case Code::not_found:
    case Code::unimplemented:
    case Code::permission_denied:
    case Code::out_of_range:
      return false;
    default:
      return true;
  }
}

/// What a failure is, for a log.
std::string problem_of(const Result<InferenceResponse>& failure) {
  return failure.ok() ? "its answer has numbers that are infinite or none"
                      : printable(cut_short(failure.error().message));
}

}  // namespace

/// One of the two versions, as whoever asks sees it.
class VersionTrial::Arm final : public Model {
 public:
  Arm(std::shared_ptr<VersionTrial> trial, bool is_fresh) : trial_(std::move(trial)), is_fresh_(is_fresh) {}
  const ModelMetadata& metadata() const override { return version().metadata(); }
  void infer(InferenceRequest request, AnswerSink answer) override {
    trial_->ask(is_fresh_, std::move(request), std::move(answer));
  }
  /// That is no part of the trial.
  Result<std::unique_ptr<ExitRun>> begin_exits(const InferenceRequest& request,
                                               const std::string& thresholds) override {
    return version().begin_exits(request, thresholds);
  }
  ModelStatistics statistics() const override { return version().statistics(); }

 private:
  Model& version() const { return is_fresh_ ? *trial_->fresh_ : *trial_->old_; }
  const std::shared_ptr<VersionTrial> trial_;
  const bool is_fresh_;
};

VersionTrial::VersionTrial(std::shared_ptr<Model> old, std::shared_ptr<Model> fresh, const TrialRule& rule)
    : old_(std::move(old)),
      fresh_(std::move(fresh)),
      rule_(rule),
      can_repeat_(are_prepared_alike(old_->metadata(), fresh_->metadata())),
      random_(1) {}

std::shared_ptr<Model> VersionTrial::choose() {
  bool is_fresh = false;
  {
    const MutexLock lock(mutex_);
    is_fresh = !verdict_ && random_.uniform() < rule_.share;
  }
  return leases_->lease(std::make_shared<Arm>(shared_from_this(), is_fresh));
}

void VersionTrial::ask(bool is_fresh, InferenceRequest request, AnswerSink answer) {
  // the answer may come after whoever asks has let go of the version: until then neither is closed
  const std::shared_ptr<Model> held = leases_->lease(is_fresh ? fresh_ : old_);
  const Instant asked = clock_.now();
  InferenceRequest again = is_fresh && can_repeat_ ? request : InferenceRequest{};  // shares the elements
  held->infer(std::move(request), [this, self = shared_from_this(), held, is_fresh, asked, again = std::move(again),
                                   answer = std::move(answer)](Result<InferenceResponse> result) mutable {
    const bool has_failed = is_failure(result);
    record(is_fresh, has_failed, clock_.now() - asked);
    const bool repeats = has_failed && is_fresh && can_repeat_ && clock_.now() < again.deadline;
    if (!repeats) return answer(std::move(result));
    log_info("the old version answers what the new one did not",
             {{"model", old_->metadata().name}, {"trace_id", again.trace_id}, {"why", problem_of(result)}});
    // `held` keeps the old version from being closed until this is answered
    old_->infer(std::move(again),
                [held, answer = std::move(answer)](Result<InferenceResponse> second) { answer(std::move(second)); });
  });
}

void VersionTrial::record(bool is_fresh, bool has_failed, Seconds took) {
  const MutexLock lock(mutex_);
  if (verdict_) return;
  TrialRecord& record = is_fresh ? fresh_record_ : old_record_;
  ++record.requests;
  if (has_failed) {
    ++record.failures;
  } else if (is_fresh || record.latencies.size() < kMostLatencies) {
    record.latencies.push_back(took);
  } else {
    record.latencies[next_old_latency_++ % kMostLatencies] = took;
  }
  if (!is_fresh) return;
  verdict_ = judge_trial(rule_, old_record_, fresh_record_);
  if (verdict_) changed_.notify_all();
}

TrialVerdict VersionTrial::wait(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  const Deadline deadline = clock_.after(rule_.at_most);
  MutexLock lock(mutex_);
  while (!verdict_) {
    const Seconds left = deadline - clock_.now();
    if (stop.stop_requested()) {
      verdict_ = TrialVerdict{false, "the server is being stopped"};
    } else if (left <= 0) {
      verdict_ =
          TrialVerdict{false, "too few requests came to tell: it got " + format_count(fresh_record_.requests) + " of " +
                                  format_count(rule_.requests) + " in " + format_seconds(rule_.at_most)};
    } else {
      changed_.wait_for(mutex_, std::min(left, kLookAgainEvery));
    }
  }
  return *verdict_;
}

VersionTrial::Counts VersionTrial::counts() const {
  const MutexLock lock(mutex_);
  return {.old = {.requests = old_record_.requests, .failures = old_record_.failures},
          .fresh = {.requests = fresh_record_.requests, .failures = fresh_record_.failures}};
}

}  // namespace mangrove::serve
