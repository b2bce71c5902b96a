#include "mangrove/infer/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

bool belongs(const TierState&, const TierTask& task, Tier tier) {
  return tier == (task.answer == Answer::first ? Tier::end : Tier::edge);
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (3) max(T_end, c_edge + ceil(B / n_edge) t_edge), for B batches; both tiers work at the same time.
Seconds predict(const TierCosts& costs) {
  return completion_of_both(costs, Tier::edge, costs.batches);
}

}  // namespace

const Scheduler kEndEdgeScheduler = {.name = "end-edge",
                                     .summary = "edge servers give all second answers",
                                     .gives_second = true,
                                     .belongs = &belongs,
                                     .next = &next,
                                     .predict = &predict};

}  // namespace mangrove::infer
