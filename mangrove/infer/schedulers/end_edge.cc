#include "mangrove/infer/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

/// A level higher with each answer.
bool belongs(const TierState&, const TierTask& task, Tier tier) {
  return static_cast<std::size_t>(tier) == static_cast<std::size_t>(task.answer);
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (3) max(T_end, c_edge + ceil(B / n_edge) t_edge), for B batches, and as much of the cloud where it gives third
/// answers; all tiers work at the same time.
Seconds predict(const TierCosts& costs) {
  const Seconds two = completion_of_both(costs, Tier::edge, costs.batches);
  if (!costs.has_third_answers) return two;
  return std::max(two, completion_of_both(costs, Tier::cloud, costs.batches));
}

}  // namespace

const Scheduler kEndEdgeScheduler = {
    .name = "end-edge",
    .summary = "edge servers give all second answers; the cloud third ones, where edge servers have exits",
    .answers = 3,
    .belongs = &belongs,
    .next = &next,
    .predict = &predict};

}  // namespace mangrove::infer
