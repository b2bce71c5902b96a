#include "mangrove/plan/tile_costs.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "mangrove/base/check.h"
#include "mangrove/graph/cut.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/operator_memory.h"

namespace mangrove::plan {
namespace {

Bytes bytes_of_value(const ValueInfo& info, std::int64_t batch) {
  return elements_of(info, batch) * static_cast<Bytes>(size_of(info.dtype));
}

}  // namespace

std::size_t TileCosts::RegionHash::operator()(const Region& region) const {
  std::uint64_t hash = 0;
  for (const std::int64_t edge : {region.top, region.left, region.bottom, region.right})
    hash = (hash ^ static_cast<std::uint64_t>(edge)) * 0x9E3779B97F4A7C15;
  return static_cast<std::size_t>(hash >> 20);
}

TileCosts::TileCosts(const TileProblem& problem)
    : problem_(problem), tiling_(problem.graph), segments_(tiling_.segments()) {
  const std::size_t nodes = problem.graph.nodes().size();
  if (segments_.empty()) segments_.push_back({.first = 0, .last = nodes});
  MG_CHECK(segments_.front().first == 0 && segments_.back().last == nodes);
  for (const TileSegment& segment : segments_) starts_.push_back(segment.first);
  starts_.push_back(nodes);
  for (const std::size_t start : starts_) add_value(start);
  const std::vector<std::size_t> fused = fused_layers(problem.graph);
  for (const TileSegment& segment : segments_) add_slots(segment, fused);
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const std::vector<double> all(segments_[s].last - segments_[s].first, 1);
    whole_memory_.push_back(living(s, values_[s].plane, all));
  }
  add_sums();
  add_kinds();
  tiles_.resize(segments_.size());
}

void TileCosts::add_value(std::size_t position) {
  const std::vector<std::string> names = values_at_cut(problem_.graph, position);
  TileValue value;
  for (const std::string& name : names) value.cell += elements_of(problem_.graph.value(name), problem_.batch);
  if (names.size() == 1) {
    const Shape& shape = problem_.graph.value(names.front()).shape;
    if (shape.rank() == 4 && shape[2] * shape[3] > 0) {
      value.plane = {0, 0, shape[2], shape[3]};
      value.cell /= value.plane.area();
    }
  }
  values_.push_back(value);
}

void TileCosts::add_slots(const TileSegment& segment, const std::vector<std::size_t>& fused) {
  const Graph& graph = problem_.graph;
  std::vector<Slot>& slots = slots_.emplace_back();
  std::map<std::string, std::size_t> slot_of;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    const Node& node = graph.nodes()[i];
    for (const std::string& input : node.inputs)
      if (const auto found = slot_of.find(input); found != slot_of.end())
        slots[found->second].until = i - segment.first;
    // kernels compute an activation function in place, with the operator before it
    const std::span<const std::size_t> before = std::span(fused).subspan(segment.first, i - segment.first);
    const bool is_in_place = std::ranges::count(before, fused[i]) > 0;
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const auto replaced = is_in_place ? slot_of.find(node.inputs.front()) : slot_of.end();
      const bool is_new = replaced == slot_of.end();
      slot_of[output] = is_new ? slots.size() : replaced->second;
      if (is_new)
        slots.push_back({i - segment.first, i - segment.first, bytes_of_value(graph.value(output), problem_.batch)});
    }
  }
}

void TileCosts::add_sums() {
  const Graph& graph = problem_.graph;
  for (const Node& node : graph.nodes())
    node_multiply_adds_.push_back(static_cast<double>(mangrove::multiply_adds(graph, node, problem_.batch)));
  for (const double of_node : node_multiply_adds_) multiply_adds_ += of_node;
  const std::vector<Bytes> weights = problem_.weights.empty() ? operator_constants(graph) : problem_.weights;
  const auto before_segments = [&](const auto& of_nodes) {
    typename std::decay_t<decltype(of_nodes)> sums(1, 0);
    for (const TileSegment& segment : segments_) {
      sums.push_back(sums.back());
      for (std::size_t i = segment.first; i < segment.last; ++i) sums.back() += of_nodes[i];
    }
    return sums;
  };
  weights_ = before_segments(weights);
  for (const TileDevice& device : problem_.devices) seconds_.push_back(before_segments(device.seconds));
}

void TileCosts::add_kinds() {
  const auto has_way = [&](std::size_t device) {
    return std::ranges::any_of(
        problem_.ways, [&](const auto& way) { return way.first.first == device || way.first.second == device; });
  };
  const auto figures = [&](std::size_t device) {
    const TileDevice& of = problem_.devices[device];
    return std::tie(of.seconds, of.memory, of.reserved, of.rate, of.delay, of.byte_seconds, of.message_seconds);
  };
  for (std::size_t d = 0; d < problem_.devices.size(); ++d) {
    std::size_t kind = 0;
    while (kind < d && (figures(kind) != figures(d) || has_way(kind) || has_way(d))) ++kind;
    kinds_.push_back(kind);
  }
}

bool TileCosts::can_be_tiled(std::size_t first, std::size_t last) const {
  for (std::size_t s = first; s < last; ++s)
    if (!segments_[s].can_be_tiled || (s + 1 < last && segments_[s].join == TileJoin::add)) return false;
  return true;
}

Bytes TileCosts::living(std::size_t segment, const Region& input, const std::vector<double>& shares) const {
  const double bytes_of_input = static_cast<double>(kFloatBytes * values_[segment].cell * input.area());
  double most = bytes_of_input;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double bytes = bytes_of_input;
    for (const Slot& slot : slots_[segment])
      if (slot.from <= i && i <= slot.until) bytes += shares[slot.from] * static_cast<double>(slot.bytes);
    most = std::max(most, bytes);
  }
  return static_cast<Bytes>(most);
}

TileCosts::SegmentTile TileCosts::made_tile(std::size_t segment, const Region& output) const {
  const TileSegment& where = segments_[segment];
  Result<TileCost> cost = tiling_.cost(where.first, where.last, output);
  if (!cost.ok() || cost->input.is_empty()) return {};
  SegmentTile tile{true, cost->input, std::move(cost->shares)};
  for (std::size_t i = 0; i < tile.shares.size(); ++i)
    tile.multiply_adds += tile.shares[i] * node_multiply_adds_[where.first + i];
  tile.memory = living(segment, tile.input, tile.shares);
  return tile;
}

const TileCosts::SegmentTile& TileCosts::tile_of(std::size_t segment, const Region& output) {
  const auto found = tiles_[segment].find(output);
  if (found != tiles_[segment].end()) return found->second;
  return tiles_[segment].emplace(output, made_tile(segment, output)).first->second;
}

std::optional<BlockTile> TileCosts::tile(std::size_t first, std::size_t last, const Region& output,
                                         std::size_t device) {
  BlockTile block{output};
  for (std::size_t s = last; s-- > first;) {
    const SegmentTile& tile = tile_of(s, block.input);
    if (!tile.is_possible) return std::nullopt;
    block.input = tile.input;
    block.multiply_adds += tile.multiply_adds;
    block.memory = std::max(block.memory, tile.memory);
    const Seconds* seconds = problem_.devices[device].seconds.data() + segments_[s].first;
    for (std::size_t i = 0; i < tile.shares.size(); ++i) block.seconds += tile.shares[i] * seconds[i];
  }
  block.memory += kFloatBytes * values_[first].cell * block.input.area();
  return block;
}

BlockTile TileCosts::whole(std::size_t first, std::size_t last, std::size_t device) const {
  BlockTile block{values_[first].plane, seconds(first, last, device)};
  for (std::size_t i = starts_[first]; i < starts_[last]; ++i) block.multiply_adds += node_multiply_adds_[i];
  for (std::size_t s = first; s < last; ++s) block.memory = std::max(block.memory, whole_memory_[s]);
  block.memory += kFloatBytes * values_[first].cell * block.input.area();
  return block;
}

}  // namespace mangrove::plan
