#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

bool belongs(const TierState&, const TierTask&, Tier tier) {
  return tier == Tier::end;
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (1) T_end = c_end + ceil(B / n_end) t_end, for B batches.
Seconds predict(const TierCosts& costs) {
  return completion(costs.of(Tier::end), costs.batches);
}

}  // namespace

const Scheduler kEndScheduler = {.name = "end",
                                 .summary = "end devices alone; no second answers",
                                 .answers = 1,
                                 .belongs = &belongs,
                                 .next = &next,
                                 .predict = &predict};

}  // namespace mangrove::infer
