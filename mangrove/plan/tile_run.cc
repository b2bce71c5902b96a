#include "mangrove/plan/tile_run.h"

#include <algorithm>

namespace mangrove::plan {

TileStep whole_step(const TileCosts& costs, std::size_t first, std::size_t last, std::size_t device) {
  return {first, last, {{device, {}, costs.value(last).plane, costs.whole(first, last, device)}}};
}

std::optional<TileStep> tiled_step(TileCosts& costs, std::size_t first, std::size_t last,
                                   std::span<const TilePart> parts) {
  TileStep step{first, last, {}};
  for (const TilePart& part : parts) {
    const std::optional<BlockTile> cost = costs.tile(first, last, part.output, part.device);
    if (!cost) return std::nullopt;
    step.tasks.push_back({part.device, part.output, costs.made(last - 1, part.output), *cost});
  }
  return step;
}

TileRun::TileRun(const TileCosts& costs, const TileLinks& links, std::size_t source)
    : costs_(&costs), clock_(links), source_(source), held_{{source, costs.value(0).plane}}, memory_(links.devices()) {}

std::vector<TileMessage> TileRun::advance(const TileStep& step) {
  std::vector<TileMessage> messages;
  for (const Held& held : held_) {
    for (const TileTask& task : step.tasks) {
      const Region region = held.region.intersection(task.cost.input);
      if (held.device != task.device && !region.is_empty())
        messages.push_back({held.device, task.device, costs_->bytes(step.first, region)});
    }
  }
  clock_.carry(messages);
  const Bytes weights = costs_->weights(step.first, step.last);
  const Bytes of_input = kFloatBytes * costs_->value(0).cell * costs_->value(0).plane.area();
  held_.clear();
  for (const TileTask& task : step.tasks) {
    clock_.compute(task.device, task.cost.seconds);
    use_memory(task, weights, step.first == 0 && task.device == source_ ? of_input : 0);
    held_.push_back({task.device, task.made});
  }
  return messages;
}

void TileRun::use_memory(const TileTask& task, Bytes weights, Bytes held) {
  MemoryUse& use = memory_[task.device];
  use.is_used = true;
  use.weights += weights;
  use.values += task.cost.memory + held;
}

std::vector<TileMessage> TileRun::finish() {
  if (held_.size() == 1) return {};
  std::vector<TileMessage> messages;
  for (const Held& held : held_)
    if (held.device != source_)
      messages.push_back({held.device, source_, costs_->bytes(costs_->segments(), held.region)});
  clock_.carry(messages);
  held_ = {{source_, costs_->value(costs_->segments()).plane}};
  return messages;
}

Seconds TileRun::earliest() const {
  Seconds seconds = clock_.done(held_.front().device);
  for (const Held& held : held_) seconds = std::min(seconds, clock_.done(held.device));
  return seconds;
}

std::size_t TileRun::last_device() const {
  return std::ranges::max_element(held_, {}, [&](const Held& held) { return clock_.done(held.device); })->device;
}

Bytes TileRun::memory(std::size_t device) const {
  const MemoryUse& use = memory_[device];
  return use.is_used ? costs_->problem().devices[device].reserved + use.weights + use.values : 0;
}

double TileRun::memory_share() const {
  double most = 0;
  for (std::size_t d = 0; d < memory_.size(); ++d)
    if (const Bytes limit = costs_->problem().devices[d].memory; limit > 0)
      most = std::max(most, static_cast<double>(memory(d)) / static_cast<double>(limit));
  return most;
}

}  // namespace mangrove::plan
