#include "mangrove/engine/recompute_plan.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace mangrove {
namespace {

constexpr int kSlots = 1024;
constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

// Memory of a segment apart from the cuts before it, grown link by link.
class Segment {
 public:
  void grow(const ChainLink& link) {
    kept_ += link.kept;
    transient_ = std::max(transient_, link.transient);
    forward_ += link.forward;
  }
  Bytes bytes() const { return kept_ + transient_; }
  Seconds forward() const { return forward_; }

 private:
  Bytes kept_ = 0, transient_ = 0;
  Seconds forward_ = 0;
};

// Best ways to cut the links before a position, by the memory that the cuts hold.
struct State {
  Seconds recomputed = kNever;
  std::size_t from = 0;  // position and slots of the cut before
  int from_slots = 0;
};

class Planner {
 public:
  Planner(std::span<const ChainLink> links, Bytes budget)
      : links_(links), slot_((budget + kSlots - 1) / kSlots), budget_(budget), table_(links.size() * (kSlots + 1)) {}

  std::optional<RecomputePlan> plan() {
    at(0, 0) = {.recomputed = 0};
    for (std::size_t start = 0; start < links_.size(); ++start) {
      for (int held = 0; held <= kSlots; ++held) {
        if (at(start, held).recomputed < best_) extend(start, held);
      }
    }
    if (best_ == kNever) return {};
    return trace();
  }

 private:
  State& at(std::size_t position, int slots) {
    return table_[position * (kSlots + 1) + static_cast<std::size_t>(slots)];
  }

  // All segments that start here, with the cuts before holding `held` slots.
  void extend(std::size_t start, int held) {
    const Seconds before = at(start, held).recomputed;
    Segment segment;
    for (std::size_t end = start + 1; end <= links_.size(); ++end) {
      segment.grow(links_[end - 1]);
      if (held * slot_ + segment.bytes() > budget_) return;  // no longer segment fits either
      if (end == links_.size()) {                            // the last segment runs once
        if (before < best_) best_ = before, last_start_ = start, last_slots_ = held;
        return;
      }
      const Seconds recomputed = before + segment.forward();
      const Bytes slots = held + (links_[end].boundary + slot_ - 1) / slot_;
      if (slots > kSlots) continue;
      State& next = at(end, static_cast<int>(slots));
      if (recomputed < next.recomputed) next = {recomputed, start, held};
    }
  }

  RecomputePlan trace() {
    RecomputePlan plan;
    plan.recomputed = best_;
    int slots = last_slots_;
    for (std::size_t position = last_start_; position > 0;) {
      plan.cuts.push_back(position);
      const State state = at(position, slots);
      position = state.from;
      slots = state.from_slots;
    }
    std::reverse(plan.cuts.begin(), plan.cuts.end());
    plan.peak = chain_peak(links_, plan.cuts);
    return plan;
  }

  std::span<const ChainLink> links_;
  Bytes slot_, budget_;
  std::vector<State> table_;
  Seconds best_ = kNever;
  std::size_t last_start_ = 0;
  int last_slots_ = 0;
};

}  // namespace

Bytes chain_peak(std::span<const ChainLink> links, std::span<const std::size_t> cuts) {
  Bytes held = 0, peak = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : links.size();
    Segment segment;
    for (std::size_t link = start; link < end; ++link) segment.grow(links[link]);
    peak = std::max(peak, held + segment.bytes());
    if (end < links.size()) held += links[end].boundary;
    start = end;
  }
  return peak;
}

std::optional<RecomputePlan> plan_recomputation(std::span<const ChainLink> links, Bytes budget) {
  if (links.empty()) return RecomputePlan{};
  if (budget <= 0) return {};
  return Planner(links, budget).plan();
}

Bytes least_peak(std::span<const ChainLink> links) {
  Bytes low = 0, high = chain_peak(links, {});  // not enough, enough
  while (high - low > 1 + high / (2 * kSlots)) {
    const Bytes middle = low + (high - low) / 2;
    if (const auto plan = plan_recomputation(links, middle)) {
      high = std::min(middle, plan->peak);
    } else {
      low = middle;
    }
  }
  return high;
}

}  // namespace mangrove
