#include "mangrove/train/pipeline_revision.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::train {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void scale(const StageRange& range, double factor, StageProfile& profile) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    const auto at = static_cast<int>(i);
    profile.set_forward_s(at, factor * profile.forward_s(at));
    profile.set_backward_s(at, factor * profile.backward_s(at));
  }
}

}  // namespace

PipelineRevision::PipelineRevision(const Graph& graph, std::int64_t micro_batch, std::vector<HeldStage> stages)
    : graph_(graph), micro_batch_(micro_batch), stages_(std::move(stages)), sums_(stages_.size()) {}

void PipelineRevision::add(std::span<const StageWork> done, std::int64_t samples, Seconds seconds) {
  MG_CHECK(done.size() == stages_.size());
  Seconds work = 0;  // of the device that has most
  for (std::size_t i = 0; i < done.size(); ++i) {
    const StageWork& one = done[i];
    const std::int64_t counted = one.busy_micro_batches();
    if (counted <= 0 || counted > one.forward_passes() || !std::isfinite(one.busy_s()) || one.busy_s() <= 0) continue;
    sums_[i].busy += one.busy_s();
    sums_[i].micro_batches += counted;
    work = std::max(work, one.busy_s() * static_cast<double>(one.forward_passes()) / static_cast<double>(counted));
  }
  if (passages_++ == 0) price_ = std::max(0.0, seconds - work);
  seconds_ += passages_ == 1 ? std::min(seconds, work) : seconds;
  samples_ += samples;
}

bool PipelineRevision::is_due() const {
  return passages_ >= next_ &&
         std::ranges::all_of(sums_, [](const Sums& sums) { return sums.micro_batches >= kLeastMicroBatches; });
}

/// How many times as long as expected its operators take.
double PipelineRevision::factor(std::size_t device, const StageProfile& profile) const {
  const StageSeconds expected = stage_seconds(graph_, stages_[device].range, profile, micro_batch_);
  const Seconds busy = sums_[device].busy / static_cast<double>(sums_[device].micro_batches);
  if (expected.computing <= 0) return 1;
  return std::max(busy / 2, busy - expected.packing) / expected.computing;  // packing is not measured
}

PipelineRevision::Profiles PipelineRevision::corrected(const Profiles& profiles) {
  std::vector<double> factors;
  for (std::size_t i = 0; i < stages_.size(); ++i) factors.push_back(factor(i, profiles.at(stages_[i].rank)));
  const double usual = median(factors);
  const auto has_drifted = [&](double factor) { return factor > kDrift * usual || kDrift * factor < usual; };
  Profiles made = profiles;
  for (std::size_t begin = 0, end = 0; begin < stages_.size(); begin = end) {
    std::vector<double> of_operators;
    for (end = begin; end < stages_.size() && stages_[end].range == stages_[begin].range; ++end)
      if (!has_drifted(factors[end])) of_operators.push_back(factors[end]);
    const double operators = of_operators.empty() ? usual : median(of_operators);
    for (auto& [rank, profile] : made) scale(stages_[begin].range, operators, profile);
    for (std::size_t i = begin; i < end; ++i)
      if (has_drifted(factors[i])) scale({0, graph_.nodes().size()}, factors[i] / operators, made.at(stages_[i].rank));
  }
  next_ = passages_ + std::min(passages_, kLongest);
  std::ranges::fill(sums_, Sums{});
  return made;
}

/// Between two micro-batches: of the slowest stage, whose replicas share them.
Seconds PipelineRevision::period(const Profiles& profiles, std::span<const HeldStage> stages) const {
  constexpr Seconds kLeast = 1e-9;  // some operators cost nothing
  Seconds slowest = 0;
  for (std::size_t begin = 0, end = 0; begin < stages.size(); begin = end) {
    double rate = 0;
    for (end = begin; end < stages.size() && stages[end].range == stages[begin].range; ++end) {
      const StageProfile& profile = profiles.at(stages[end].rank);
      rate += 1 / std::max(kLeast, stage_seconds(graph_, stages[end].range, profile, micro_batch_).busy());
    }
    slowest = std::max(slowest, 1 / rate);
  }
  return slowest;
}

double PipelineRevision::speedup(const Profiles& profiles, std::span<const HeldStage> others) const {
  return period(profiles, stages_) / period(profiles, others);
}

bool PipelineRevision::pays(double speedup, std::int64_t samples_left) const {
  if (speedup < kFaster || samples_ == 0) return false;
  const Seconds left = seconds_ / static_cast<double>(samples_) * static_cast<double>(samples_left);
  return left * (1 - 1 / speedup) > price_;
}

}  // namespace mangrove::train
