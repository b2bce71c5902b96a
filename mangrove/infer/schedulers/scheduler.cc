#include "mangrove/infer/schedulers/scheduler.h"

#include <string>
#include <vector>

#include "mangrove/base/nearest.h"

namespace mangrove::infer {

bool TierState::has_usable(Tier tier) const {
  return std::ranges::any_of(devices, [&](const DeviceLoad& device) { return device.tier == tier && device.usable; });
}

std::span<const Scheduler> schedulers() {
  static const std::vector<Scheduler> all = {kEndScheduler, kEndCloudScheduler, kEndEdgeScheduler, kMappingScheduler,
                                             kAutoScheduler};
  return all;
}

Result<const Scheduler*> find_scheduler(std::string_view name) {
  std::vector<std::string> names;
  for (const Scheduler& scheduler : schedulers()) {
    if (scheduler.name == name) return &scheduler;
    names.emplace_back(scheduler.name);
  }
  return make_error(Code::invalid_argument,
                    "scheduler: unknown scheduler '" + std::string(name) + "'" + suggestion(name, names));
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

Seconds completion_of_both(const TierCosts& costs, Tier tier, std::size_t tasks) {
  const TierCosts::Of& end = costs.of(Tier::end);
  if (costs.of(tier).devices == 0) return completion(end, costs.batches + tasks);
  return std::max(completion(end, costs.batches), completion(costs.of(tier), tasks));
}

Seconds completion(const TierCosts::Of& tier, std::size_t tasks) {
  if (tasks == 0 || tier.devices == 0) return 0;
  const std::size_t longest = (tasks + tier.devices - 1) / tier.devices;
  return tier.delay + static_cast<double>(longest) * tier.service;
}

}  // namespace mangrove::infer
