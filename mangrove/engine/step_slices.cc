#include "mangrove/engine/step_slices.h"

#include <cstddef>
#include <utility>

namespace mangrove {
namespace {

std::vector<DraftStep> in_order(std::vector<DraftStep> steps, const std::vector<std::size_t>& order) {
  std::vector<DraftStep> sorted;
  sorted.reserve(steps.size());
  for (const std::size_t index : order) sorted.push_back(std::move(steps[index]));
  return sorted;
}

/// Of every buffer, how many operands use it.
std::vector<int> count_uses(const std::vector<DraftStep>& steps, std::size_t buffers) {
  std::vector<int> uses(buffers, 0);
  for (const DraftStep& step : steps) {
    for (const BufferId buffer : step.buffers) ++uses[static_cast<std::size_t>(buffer)];
  }
  return uses;
}

}  // namespace

void StepSlices::make_groups(std::size_t forward_steps, std::int64_t batch) {
  group_pass(0, forward_steps, batch);
  group_pass(forward_steps, steps_.size(), batch);
  std::erase_if(groups_, [&](const SliceGroup& group) { return !make_sliced(group); });
  sliced_.resize(buffers_.size(), false);
  const std::vector<int> uses = count_uses(steps_, buffers_.size());
  for (const SliceGroup& group : groups_) set_strides(group, uses);
}

void StepSlices::group_pass(std::size_t first, std::size_t last, std::int64_t batch) {
  std::vector<SliceCandidate> candidates;
  for (std::size_t i = first; i < last; ++i) candidates.push_back({&steps_[i].step, &steps_[i].buffers});
  SlicePlan plan = plan_slices(candidates, batch, threads_, buffers_);
  for (SliceGroup& group : plan.groups) groups_.push_back({group.first + first, group.last + first, group.slices});
  std::vector<std::size_t> order(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) order[i] = i >= first && i < last ? plan.order[i - first] + first : i;
  steps_ = in_order(std::move(steps_), order);
}

/// False where a step of the group has no kernel for a slice after all.
bool StepSlices::make_sliced(const SliceGroup& group) {
  for (std::size_t i = group.first; i < group.last; ++i) {
    auto made = steps_[i].step.slicing->make(group.slices);
    if (!made.ok()) return false;
    steps_[i].sliced = std::move(made).value();
  }
  return true;
}

/// A buffer that only the group uses, and only split, gets room for one slice.
void StepSlices::set_strides(const SliceGroup& group, const std::vector<int>& uses) {
  std::vector<int> split(buffers_.size(), 0);
  for (std::size_t i = group.first; i < group.last; ++i) {
    DraftStep& draft = steps_[i];
    for (std::size_t k = 0; k < draft.buffers.size(); ++k) {
      const bool is_split = draft.step.slicing->split[k];
      draft.strides.push_back(is_split ? buffers_.bytes(draft.buffers[k]) / group.slices : 0);
      if (is_split) ++split[static_cast<std::size_t>(draft.buffers[k])];
    }
  }
  for (std::size_t i = group.first; i < group.last; ++i) {
    DraftStep& draft = steps_[i];
    for (std::size_t k = 0; k < draft.buffers.size(); ++k) {
      const BufferId buffer = draft.buffers[k];
      const auto b = static_cast<std::size_t>(buffer);
      if (split[b] != uses[b] || !buffers_.is_planned(buffer)) continue;
      sliced_[b] = true;
      buffers_.resize(buffer, std::exchange(draft.strides[k], 0));
    }
    resize_workspace(draft);
  }
}

void StepSlices::resize_workspace(DraftStep& draft) {
  if (draft.sliced->workspace > 0 && draft.workspace == kNoBuffer)
    draft.workspace = buffers_.add(0, BufferTable::Life::uses);
  if (draft.workspace != kNoBuffer) buffers_.resize(draft.workspace, draft.sliced->workspace);
}

/// A slice of a step runs before the next slice of an earlier one.
void StepSlices::extend_lives() {
  for (const SliceGroup& group : groups_) {
    const int first = static_cast<int>(group.first), last = static_cast<int>(group.last) - 1;
    for (std::size_t i = group.first; i < group.last; ++i) {
      const DraftStep& draft = steps_[i];
      for (const BufferId buffer : draft.buffers)
        if (!is_sliced(buffer)) buffers_.extend(buffer, first, last);
      if (draft.workspace != kNoBuffer && draft.sliced->keeps_workspace) buffers_.extend(draft.workspace, first, last);
    }
  }
}

}  // namespace mangrove
