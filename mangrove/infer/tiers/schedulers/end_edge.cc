#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

/// A level higher with each answer.
bool belongs(const TierState&, const TierTask& task, Tier tier) {
  return static_cast<std::size_t>(tier) == static_cast<std::size_t>(task.answer);
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (3) max(T_end, c_edge + ceil(B / n_edge) t_edge), for B batches; all tiers work at the same time. Of three levels
/// completion_of_all(), where each tier has all batches.
Seconds predict(const TierCosts& costs) {
  if (costs.levels < 3) return completion_of_both(costs, Tier::edge, costs.batches);
  std::array tasks = {std::pair(Tier::end, costs.batches), std::pair(Tier::edge, costs.batches),
                      std::pair(Tier::cloud, costs.batches)};
  for (std::size_t level = 1; level < tasks.size(); ++level)
    if (costs.of(tasks[level].first).devices == 0) tasks[0].second += costs.batches;  // end devices have its part
  return completion_of_all(costs, tasks);
}

}  // namespace

const Scheduler kEndEdgeScheduler = {
    .name = "end-edge",
    .summary = "edge servers give all second answers; if they have exits, the cloud gives third answers",
    .answers = 3,
    .belongs = &belongs,
    .next = &next,
    .predict = &predict};

}  // namespace mangrove::infer
