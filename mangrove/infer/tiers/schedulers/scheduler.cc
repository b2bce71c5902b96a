#include "mangrove/infer/tiers/schedulers/scheduler.h"

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "mangrove/base/table.h"

namespace mangrove::infer {

bool TierState::has_usable(Tier tier) const {
  return std::ranges::any_of(devices, [&](const DeviceLoad& device) { return device.tier == tier && device.usable; });
}

std::span<const Scheduler> schedulers() {
  static const std::vector<Scheduler> rows(std::begin(kSchedulers), std::end(kSchedulers));
  return rows;
}

Result<const Scheduler*> find_scheduler(std::string_view name) {
  return find_row(schedulers(), name, "scheduler: unknown scheduler", Code::invalid_argument);
}

bool may_run(const TierState& state, Belongs belongs, const TierTask& task, Tier tier) {
  if (belongs(state, task, tier)) return true;
  for (const Tier other : {Tier::end, Tier::edge, Tier::cloud})
    if (belongs(state, task, other) && state.has_usable(other)) return false;
  return true;
}

std::optional<Assignment> next_of(const TierState& state, Belongs belongs) {
  if (std::ranges::none_of(state.devices, &DeviceLoad::has_room)) return std::nullopt;
  for (const auto* waiting : state.waiting) {
    for (const TierTask& task : *waiting) {
      std::optional<Assignment> best;
      for (std::size_t i = 0; i < state.devices.size(); ++i) {
        const DeviceLoad& device = state.devices[i];
        if (!device.has_room() || !device.can_do(task) || !may_run(state, belongs, task, device.tier)) continue;
        if (!best || device.finish(state.now) < state.devices[best->device].finish(state.now)) best = {task, i};
      }
      if (best) return best;
    }
  }
  return std::nullopt;
}

Seconds completion_of_all(const TierCosts& costs, std::span<const std::pair<Tier, std::size_t>> tasks) {
  Seconds before = 0, longest = 0;
  for (const auto& [tier, count] : tasks) {
    const Seconds one = costs.levels > 0 ? completion(costs.of(tier), std::min<std::size_t>(count, 1)) : 0;
    before += one;
    longest = std::max(longest, completion(costs.of(tier), count) - one);
  }
  return before + longest;
}

Seconds completion_of_both(const TierCosts& costs, Tier tier, std::size_t tasks) {
  if (costs.of(tier).devices == 0) return completion(costs.of(Tier::end), costs.batches + tasks);
  return completion_of_all(costs, std::array{std::pair(Tier::end, costs.batches), std::pair(tier, tasks)});
}

Seconds completion(const TierCosts::Of& tier, std::size_t tasks) {
  if (tasks == 0 || tier.devices == 0) return 0;
  const std::size_t longest = (tasks + tier.devices - 1) / tier.devices;
  return tier.delay + static_cast<double>(longest) * tier.service;
}

}  // namespace mangrove::infer
