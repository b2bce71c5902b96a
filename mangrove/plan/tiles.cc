#include "mangrove/plan/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mangrove/plan/tile_run.h"

namespace mangrove::plan {
namespace {

Error no_tile_plan(std::string why) {
  return make_error(Code::invalid_argument, "plan of tiles: " + std::move(why));
}

/// Whether tiles cover a plane, each place once.
Status check_cover(const std::vector<TilePart>& parts, const Region& plane) {
  std::vector<Region> regions;
  for (const TilePart& part : parts) regions.push_back(part.output);
  if (!cover(regions, plane)) return no_tile_plan("tiles are empty, overlap, lie beyond the plane, or do not cover it");
  return {};
}

class TilePricing {
 public:
  TilePricing(const TileProblem& problem, std::size_t source, std::vector<TileBlock> blocks)
      : problem_(problem), costs_(problem), links_(problem), run_(costs_, links_, source) {
    plan_.source = source;
    plan_.blocks = std::move(blocks);
  }

  Result<TilePlan> make() {
    MG_RETURN_IF_ERROR(add_steps());
    run_.clock().remember();
    plan_.work = 0;
    for (std::size_t b = 0; b < steps_.size(); ++b) compute(b);
    const std::size_t last = steps_.size() - 1;
    for (const TileMessage& message : run_.finish()) pack(message, last), unpack(message, last);
    const TileClock& clock = run_.clock();
    plan_.latency = run_.latest();
    plan_.period = clock.period();
    plan_.work = costs_.multiply_adds() > 0 ? plan_.work / costs_.multiply_adds() : 1;
    plan_.sent = clock.sent();
    plan_.limiting =
        problem_.objective == Objective::throughput ? clock.busiest() : clock.longest_wait(run_.last_device());
    MG_RETURN_IF_ERROR(add_memory());
    return std::move(plan_);
  }

 private:
  Status add_steps() {
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      Result<TileStep> step = step_of(plan_.blocks[b]).context(fmt::format("block {}", b + 1));
      if (!step.ok()) return step.error();
      steps_.push_back(std::move(*step));
    }
    if (steps_.empty() || steps_.back().last != costs_.segments())
      return no_tile_plan("no block has the last operators");
    const auto& first = plan_.blocks.front().parts;
    if (std::ranges::count(first, plan_.source, &TilePart::device) == 0)
      return no_tile_plan("the source has no tile of the first block");
    return {};
  }

  Result<TileStep> step_of(const TileBlock& block) {
    const std::size_t first = steps_.empty() ? 0 : steps_.back().last;
    if (block.first != costs_.first_operator(first)) return no_tile_plan("operators are missing or twice");
    std::size_t last = first;
    while (last < costs_.segments() && costs_.first_operator(last) < block.last) ++last;
    if (last == first || costs_.first_operator(last) != block.last)
      return no_tile_plan(fmt::format("it cannot end before operator {}", block.last));
    std::set<std::size_t> devices;
    for (const TilePart& part : block.parts)
      if (part.device >= problem_.devices.size() || !devices.insert(part.device).second)
        return no_tile_plan(fmt::format("device {} is not there, or used twice", part.device));
    if (devices.empty()) return no_tile_plan("no device");
    if (!block.is_tiled()) return whole_step(costs_, first, last, block.parts.front().device);
    if (!costs_.can_be_tiled(first, last)) return no_tile_plan("an operator cannot be tiled");
    MG_RETURN_IF_ERROR(check_cover(block.parts, costs_.plane(last - 1)));
    std::optional<TileStep> step = tiled_step(costs_, first, last, block.parts);
    if (!step) return no_tile_plan("a tile cannot be computed");
    return std::move(*step);
  }

  void compute(std::size_t block) {
    for (const TileMessage& message : run_.advance(steps_[block])) {
      pack(message, block == 0 ? 0 : block - 1);
      unpack(message, block);
    }
    for (std::size_t i = 0; i < steps_[block].tasks.size(); ++i) {
      const BlockTile& cost = steps_[block].tasks[i].cost;
      plan_.blocks[block].parts[i].busy += cost.seconds;
      plan_.work += cost.multiply_adds;
    }
  }

  void pack(const TileMessage& message, std::size_t block) { handle(message.from, message.bytes, block); }
  void unpack(const TileMessage& message, std::size_t block) { handle(message.to, message.bytes, block); }

  /// A device that gathers the tiles of the last block need not have one.
  void handle(std::size_t device, Bytes bytes, std::size_t block) {
    for (TilePart& part : plan_.blocks[block].parts)
      if (part.device == device) part.busy += links_.handling(device, bytes);
  }

  Status add_memory() {
    for (std::size_t d = 0; d < problem_.devices.size(); ++d) {
      const TileDevice& device = problem_.devices[d];
      plan_.memory.push_back(run_.memory(d));
      if (device.memory > 0 && plan_.memory.back() > device.memory)
        return make_error(Code::resource_exhausted,
                          fmt::format("plan of tiles: it needs {} on '{}', which has {}",
                                      format_bytes(plan_.memory.back()), device.name, format_bytes(device.memory)));
    }
    return {};
  }

  const TileProblem& problem_;
  TileCosts costs_;
  const TileLinks links_;
  TileRun run_;
  std::vector<TileStep> steps_;
  TilePlan plan_;
};

}  // namespace

Result<TilePlan> price_tiles(const TileProblem& problem, std::size_t source, std::vector<TileBlock> blocks) {
  MG_RETURN_IF_ERROR(check(problem));
  if (source >= problem.devices.size()) return no_tile_plan("the source is not there");
  for (TileBlock& block : blocks)
    for (TilePart& part : block.parts) part.busy = 0;
  return TilePricing(problem, source, std::move(blocks)).make();
}

}  // namespace mangrove::plan
