#include "mangrove/train/pipeline/meter.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"

namespace mangrove::train {
namespace {

// Nobody tells of more in good faith.
constexpr int kMostLate = 100'000;  // updates
constexpr std::int64_t kMostPasses = 1'000'000'000;

Seconds time_or_none(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

/// A backward pass takes about twice as long.
double busy_micro_batches(const StageWork& done) {
  const auto passes = [](std::int64_t told) {
    return static_cast<double>(std::clamp<std::int64_t>(told, 0, kMostPasses));
  };
  return (passes(done.busy_forward_passes()) + 2 * passes(done.busy_backward_passes())) / 3;
}

}  // namespace

void PipelineMeter::add(std::span<const StageWork> done, Seconds seconds) {
  MG_CHECK(done.size() == stages_.size());
  const bool first_counts = iterations_++ != 1;
  if (!first_counts) {
    seconds_ = 0;
    for (Sums& sums : sums_) sums = {.in_flight = sums.in_flight, .staleness = sums.staleness};
  }
  seconds_ += seconds;
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    Sums& sums = sums_[s];
    sums.forward += time_or_none(done[s].forward_s());
    sums.backward += time_or_none(done[s].backward_s());
    sums.busy += time_or_none(done[s].busy_s());
    sums.busy_micro_batches += busy_micro_batches(done[s]);
    sums.passes += std::clamp<std::int64_t>(done[s].forward_passes(), 0, kMostPasses);
    sums.in_flight = std::max(sums.in_flight, done[s].in_flight());
    for (int late = 0; late < std::min(kMostLate, done[s].staleness_size()); ++late) {
      if (sums.staleness.size() <= static_cast<std::size_t>(late)) sums.staleness.push_back(0);
      sums.staleness[static_cast<std::size_t>(late)] += std::max<std::int64_t>(0, done[s].staleness(late));
    }
  }
}

std::vector<TrainedStage> PipelineMeter::report(std::span<const std::vector<Action>> actions) const {
  std::vector<StageWorkload> devices;
  for (const Sums& sums : sums_) {
    const auto passes = static_cast<double>(std::max<std::int64_t>(1, sums.passes));
    const std::size_t device = devices.size();
    devices.push_back({stages_[device].stage, actions[device], sums.forward / passes, sums.backward / passes});
  }
  const std::vector<double> predicted = idle_shares(devices);
  std::vector<TrainedStage> stages = stages_;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Sums& sums = sums_[s];
    stages[s].forward = devices[s].forward;
    stages[s].backward = devices[s].backward;
    if (sums.busy_micro_batches > 0) stages[s].busy = sums.busy / sums.busy_micro_batches;
    stages[s].idle = seconds_ > 0 ? std::clamp(1 - (sums.forward + sums.backward) / seconds_, 0.0, 1.0) : 0;
    stages[s].predicted_idle = predicted[s];
    stages[s].in_flight = sums.in_flight;
    stages[s].staleness = sums.staleness;
  }
  return stages;
}

}  // namespace mangrove::train
