#include "mangrove/train/pipeline/replanner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/median.h"

namespace mangrove::train {
namespace {

constexpr Seconds kLongestIteration = 1e6;
constexpr double kMostOff = 100;  // times what was expected; nobody tells of more in good faith

void scale(const StageRange& range, double factor, StageProfile& profile) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    const auto at = static_cast<int>(i);
    profile.set_forward_s(at, factor * profile.forward_s(at));
    profile.set_backward_s(at, factor * profile.backward_s(at));
  }
}

bool makes_sense(const StageWork& work, std::int64_t samples) {
  const auto is_count = [&](std::int64_t passes) { return passes >= 0 && passes <= work.forward_passes(); };
  return work.forward_passes() <= samples && is_count(work.busy_forward_passes()) &&
         is_count(work.busy_backward_passes()) && work.busy_s() > 0 && work.busy_s() < kLongestIteration;
}

}  // namespace

std::vector<HeldStage> held(std::span<const PlacedStage> placed) {
  std::vector<HeldStage> stages;
  for (const PlacedStage& stage : placed)
    for (const StageHolder& holder : stage.holders) stages.push_back({holder.rank, stage.range});
  return stages;
}

std::vector<HeldStage> held(std::span<const PlannedStage> planned) {
  std::vector<HeldStage> stages;
  for (const PlannedStage& stage : planned)
    for (const PlannedStage::Replica& replica : stage.replicas) stages.push_back({replica.rank, stage.range});
  return stages;
}

PipelineReplanner::PipelineReplanner(const Graph& graph, std::int64_t micro_batch, std::vector<HeldStage> stages,
                                     int revisions)
    : graph_(graph),
      micro_batch_(micro_batch),
      stages_(std::move(stages)),
      devices_(stages_.size()),
      next_(1 << std::clamp(revisions, 0, 20)) {}

void PipelineReplanner::add(std::span<const StageWork> done, std::int64_t samples, Seconds seconds) {
  MG_CHECK(done.size() == stages_.size());
  Seconds work = 0;  // of the device that has most
  for (std::size_t i = 0; i < done.size(); ++i) {
    const StageWork& one = done[i];
    devices_[i].has_work |= one.forward_passes() != 0;
    if (!makes_sense(one, samples)) continue;
    const auto forward = static_cast<double>(one.busy_forward_passes());
    const auto backward = static_cast<double>(one.busy_backward_passes());
    devices_[i].busy += one.busy_s();
    devices_[i].forward_passes += forward;
    devices_[i].backward_passes += backward;
    if (one.with_messages()) devices_[i].messages += (forward + backward) / 2;
    devices_[i].recomputes = one.recomputes();
    if (backward > 0) work = std::max(work, one.busy_s() * static_cast<double>(one.forward_passes()) / backward);
  }
  if (iterations_++ == 0) price_ = std::max(0.0, seconds - work);
  seconds_ += iterations_ == 1 ? std::min(seconds, work) : seconds;
  samples_ += samples;
}

bool PipelineReplanner::is_due() const {
  return iterations_ >= next_ && std::ranges::all_of(devices_, [](const Device& device) {
           return !device.has_work || device.backward_passes >= kLeastPasses;
         });
}

/// How many times as long as expected its operators take; nothing: it has none to do.
std::optional<double> PipelineReplanner::factor(std::size_t device, const StageProfile& profile) const {
  const Device& of = devices_[device];
  const StageSeconds once = stage_seconds(graph_, stages_[device].range, profile, micro_batch_);
  const Seconds expected =
      of.forward_passes * once.forward + of.backward_passes * (once.backward + (of.recomputes ? once.forward : 0));
  if (!of.has_work || expected <= 0) return {};
  const Seconds computing = std::max(of.busy / 2, of.busy - of.messages * once.packing);  // packing is not measured
  return std::clamp(computing / expected, 1 / kMostOff, kMostOff);
}

PipelineReplanner::Profiles PipelineReplanner::corrected(const Profiles& profiles) {
  std::vector<std::optional<double>> now(stages_.size());
  std::vector<double> all, changes;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    now[i] = factor(i, profiles.at(stages_[i].rank));
    if (!now[i]) continue;
    all.push_back(*now[i]);
    if (!devices_[i].first) devices_[i].first = now[i];
    changes.push_back(*now[i] / *devices_[i].first);
  }
  const double usual = median(all), usual_change = median(changes);
  const auto drift = [&](std::size_t i) {
    const double change = *now[i] / *devices_[i].first / usual_change;
    return plan::is_drift(change) ? change : 1;
  };
  Profiles made = profiles;
  for (std::size_t begin = 0, end = 0; begin < stages_.size(); begin = end) {
    std::vector<double> of_operators;
    for (end = begin; end < stages_.size() && stages_[end].range == stages_[begin].range; ++end) {
      if (!now[end]) continue;
      of_operators.push_back(*now[end] / drift(end));
      scale({0, graph_.nodes().size()}, drift(end), made.at(stages_[end].rank));
    }
    const double factor = of_operators.empty() ? 1 : median(of_operators) / usual;
    for (auto& [rank, profile] : made) scale(stages_[begin].range, factor, profile);
  }
  next_ = iterations_ + std::min(iterations_, kLongest);
  if (samples_ > 0) sample_ = std::exchange(seconds_, 0) / static_cast<double>(std::exchange(samples_, 0));
  for (Device& device : devices_) device = {.has_work = device.has_work, .first = device.first};
  return made;
}

/// Between two micro-batches: of the slowest stage, whose replicas share them.
Seconds PipelineReplanner::period(const Profiles& profiles, std::span<const HeldStage> stages) const {
  constexpr Seconds kLeast = 1e-9;  // some operators cost nothing
  Seconds slowest = 0;
  for (std::size_t begin = 0, end = 0; begin < stages.size(); begin = end) {
    std::vector<Seconds> of_replicas;
    for (end = begin; end < stages.size() && stages[end].range == stages[begin].range; ++end) {
      const StageProfile& profile = profiles.at(stages[end].rank);
      of_replicas.push_back(std::max(kLeast, stage_seconds(graph_, stages[end].range, profile, micro_batch_).busy()));
    }
    slowest = std::max(slowest, plan::shared_period(of_replicas));
  }
  return slowest;
}

double PipelineReplanner::speedup(const Profiles& profiles, std::span<const HeldStage> others) const {
  return period(profiles, stages_) / period(profiles, others);
}

bool PipelineReplanner::pays(double speedup, std::int64_t samples_left) const {
  return kRule.is_met(speedup, sample_ * static_cast<double>(samples_left), price_);
}

}  // namespace mangrove::train
