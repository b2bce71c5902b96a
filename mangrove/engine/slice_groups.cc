#include "mangrove/engine/slice_groups.h"

#include <algorithm>
#include <set>

namespace mangrove {
namespace {

using Access = Operand::Access;

/// What the operands of a group that are split take together, per slice and thread. One thread: some of the cache of
/// one core (1 to 16 MiB measure alike on a processor with 1 MiB of it). Several hand each other parts of what they
/// write, which is quick only once it has left the cache of the core that wrote it.
constexpr Bytes slice_bytes(int threads) {
  return threads == 1 ? MiB(2) : MiB(8) * threads;
}

/// The buffers that a group uses so far, and how.
class GroupBuffers {
 public:
  void add(const SliceCandidate& step) {
    for (std::size_t k = 0; k < step.buffers->size(); ++k) {
      const bool writes = step.step->operands[k].access != Access::read;
      (step.step->slicing->split[k] ? split_ : whole_).insert((*step.buffers)[k]);
      if (writes) written_.insert((*step.buffers)[k]);
    }
  }

  /// Whether each slice of the step can follow the same slice of the steps before it.
  bool can_join(const SliceCandidate& step) const {
    for (std::size_t k = 0; k < step.buffers->size(); ++k) {
      const BufferId buffer = (*step.buffers)[k];
      const bool writes = step.step->operands[k].access != Access::read;
      if (step.step->slicing->split[k] ? whole_.contains(buffer) : written_.contains(buffer) || split_.contains(buffer))
        return false;
      if (!step.step->slicing->split[k] && writes && whole_.contains(buffer)) return false;
    }
    return true;
  }

  /// Whether the step may as well run before the group.
  bool is_independent(const SliceCandidate& step) const {
    for (std::size_t k = 0; k < step.buffers->size(); ++k) {
      const BufferId buffer = (*step.buffers)[k];
      const bool writes = step.step->operands[k].access != Access::read;
      if (written_.contains(buffer) || (writes && (whole_.contains(buffer) || split_.contains(buffer)))) return false;
    }
    return true;
  }

  /// As many slices as fit the cache, but not so many that going through the weights again and again costs more than
  /// the cache saves. 1: not worth it.
  int slices(std::int64_t batch, int threads, const BufferTable& buffers) const {
    const Bytes fits = slice_bytes(threads);
    Bytes split = 0, whole = 0;
    for (const BufferId buffer : split_) split += buffers.bytes(buffer);
    for (const BufferId buffer : whole_) whole += buffers.bytes(buffer);
    std::int64_t best = 1;
    for (std::int64_t slices = 2; slices <= batch; ++slices) {
      if (batch % slices != 0) continue;
      // each thread has the same images in every step
      if (batch % threads == 0 && batch / slices % threads != 0) continue;
      if (slices * whole > 2 * split) break;
      best = slices;
      if (split / slices <= fits) break;
    }
    return split > fits ? static_cast<int>(best) : 1;
  }

 private:
  std::set<BufferId> split_, whole_, written_;
};

}  // namespace

SlicePlan plan_slices(const std::vector<SliceCandidate>& steps, std::int64_t batch, int threads,
                      const BufferTable& buffers) {
  SlicePlan plan;
  for (std::size_t i = 0; i < steps.size();) {
    if (!steps[i].step->slicing) {
      plan.order.push_back(i++);
      continue;
    }
    GroupBuffers used;
    std::vector<std::size_t> group, ahead, waiting;
    std::size_t end = i;  // behind the last member
    for (std::size_t j = i; j < steps.size(); ++j) {
      if (steps[j].step->slicing && used.can_join(steps[j])) {
        used.add(steps[j]);
        group.push_back(j);
        ahead.insert(ahead.end(), waiting.begin(), waiting.end());
        waiting.clear();
        end = j + 1;
      } else if (!steps[j].step->slicing && used.is_independent(steps[j])) {
        waiting.push_back(j);
      } else {
        break;
      }
    }
    const int slices = group.size() > 1 ? used.slices(batch, threads, buffers) : 1;
    plan.order.insert(plan.order.end(), ahead.begin(), ahead.end());
    if (slices > 1) plan.groups.push_back({plan.order.size(), plan.order.size() + group.size(), slices});
    plan.order.insert(plan.order.end(), group.begin(), group.end());
    i = end;
  }
  return plan;
}

}  // namespace mangrove
