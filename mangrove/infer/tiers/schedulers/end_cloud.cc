#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

bool belongs(const TierState&, const TierTask& task, Tier tier) {
  return tier == (task.answer == Answer::first ? Tier::end : Tier::cloud);
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (2) max(T_end, c_cloud + ceil(B / n_cloud) t_cloud), for B batches; both tiers work at the same time.
Seconds predict(const TierCosts& costs) {
  return completion_of_both(costs, Tier::cloud, costs.batches);
}

}  // namespace

const Scheduler kEndCloudScheduler = {.name = "end-cloud",
                                      .summary = "the cloud gives all second answers",
                                      .answers = 2,
                                      .belongs = &belongs,
                                      .next = &next,
                                      .predict = &predict};

}  // namespace mangrove::infer
