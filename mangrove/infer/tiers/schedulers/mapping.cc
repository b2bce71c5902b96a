#include <cmath>

#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

/// (4) N_map = ceil((t_edge + c_edge) / (t_end + c_end)) end devices for each edge server; of the n_end devices
/// min(n_end, N_map n_edge) have one, the others have the cloud. All of them where there is no cloud, none where there
/// is no edge.
std::size_t mapped_to_edge(const TierCosts& costs) {
  const auto &end = costs.of(Tier::end), &edge = costs.of(Tier::edge);
  if (edge.devices == 0) return 0;
  const double of_end = end.service + end.delay;
  if (of_end <= 0 || costs.of(Tier::cloud).devices == 0) return end.devices;
  const double per_server = std::ceil((edge.service + edge.delay) / of_end);
  return static_cast<std::size_t>(
      std::min(static_cast<double>(end.devices), per_server * static_cast<double>(edge.devices)));
}

TierCosts means_of(const TierState& state) {
  TierCosts costs{.batches = state.batches, .tiers = {}};
  for (std::size_t tier = 0; tier < kTiers; ++tier)
    costs.tiers[tier] = mean_over(state.devices, static_cast<Tier>(tier));
  return costs;
}

/// Batch b is that of end device b mod n_end.
bool is_for_edge(std::size_t batch, const TierCosts& costs) {
  return batch % std::max<std::size_t>(1, costs.of(Tier::end).devices) < mapped_to_edge(costs);
}

bool belongs(const TierState& state, const TierTask& task, Tier tier) {
  if (task.answer == Answer::first) return tier == Tier::end;
  return tier == (is_for_edge(task.batch, means_of(state)) ? Tier::edge : Tier::cloud);
}

std::optional<Assignment> next(const TierState& state) {
  return next_of(state, &belongs);
}

/// (5) B_edge batches are those of the end devices that have an edge server, B_cloud = B - B_edge the others.
/// (6) max(T_end, c_edge + ceil(B_edge / n_edge) t_edge, c_cloud + ceil(B_cloud / n_cloud) t_cloud).
Seconds predict(const TierCosts& costs) {
  std::size_t of_edge = 0;
  for (std::size_t batch = 0; batch < costs.batches; ++batch) of_edge += is_for_edge(batch, costs) ? 1 : 0;
  if (of_edge == costs.batches) return completion_of_both(costs, Tier::edge, of_edge);
  return std::max(completion_of_both(costs, Tier::cloud, costs.batches - of_edge),
                  completion_of_both(costs, Tier::edge, of_edge));
}

}  // namespace

const Scheduler kMappingScheduler = {
    .name = "mapping",
    .summary = "each edge server answers for as many end devices as it keeps up with, the cloud for the others",
    .answers = 2,
    .belongs = &belongs,
    .next = &next,
    .predict = &predict};

}  // namespace mangrove::infer
