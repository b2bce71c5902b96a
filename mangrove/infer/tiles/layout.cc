#include "mangrove/infer/tiles/layout.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "mangrove/graph/cut.h"

namespace mangrove::infer {
namespace {

constexpr std::size_t kMostBlocks = 1024;  // of a placement, which comes over the network

Region region_of(const TilePlace& place) {
  return {place.top(), place.left(), place.bottom(), place.right()};
}

}  // namespace

const TileLayout::Part* TileLayout::Block::find(net::Rank rank) const {
  const auto found = std::ranges::find(parts, rank, &Part::rank);
  return found == parts.end() ? nullptr : &*found;
}

Result<TileLayout> TileLayout::create(const Graph& graph, const Command& command, int ranks) {
  TileLayout layout;
  if (command.blocks().empty()) return layout;  // of a rank without a team
  if (static_cast<std::size_t>(command.blocks_size()) > kMostBlocks)
    return make_error(Code::invalid_argument, "blocks: " + std::to_string(command.blocks_size()) + " of tiles");
  layout.source_ = command.source();
  if (layout.source_ < 1 || layout.source_ >= ranks)
    return make_error(Code::invalid_argument, "source: no rank " + std::to_string(layout.source_));
  const Tiling tiling(graph);
  for (const TileBlockPlace& place : command.blocks())
    MG_RETURN_IF_ERROR(layout.add_block(graph, tiling, place, ranks));
  if (layout.blocks_.back().last != graph.nodes().size())
    return make_error(Code::invalid_argument, "blocks: the last operators are missing");
  MG_RETURN_IF_ERROR(layout.add_cut(graph, graph.nodes().size()));
  if (layout.blocks_.back().is_tiled()) layout.add_answer();
  return layout;
}

/// The cut before it is that behind it, too.
void TileLayout::add_answer() {
  const std::size_t end = blocks_.back().last;
  const Region plane = cuts_.back().plane;
  blocks_.push_back(
      {.first = end, .last = end, .parts = {{.rank = source_, .tile = plane, .input = plane, .output = plane}}});
  cuts_.push_back(cuts_.back());
}

Status TileLayout::add_cut(const Graph& graph, std::size_t position) {
  const std::vector<std::string> values = values_at_cut(graph, position);
  if (values.size() != 1)
    return make_error(Code::invalid_argument, "blocks: " + std::to_string(values.size()) +
                                                  " values cross the cut before operator " + std::to_string(position));
  const ValueInfo& info = graph.value(values.front());
  if (!can_travel(info))
    return make_error(Code::invalid_argument, "blocks: value '" + values.front() + "' of shape " +
                                                  to_string(info.shape) + " cannot travel between nodes");
  Cut cut{elements_of(info, 1), {0, 0, 1, 1}};
  if (info.shape.rank() == 4) cut = {info.shape[1], {0, 0, info.shape[2], info.shape[3]}};
  cuts_.push_back(cut);
  return {};
}

Status TileLayout::add_block(const Graph& graph, const Tiling& tiling, const TileBlockPlace& place, int ranks) {
  Block block{.first = place.first(), .last = place.last(), .parts = {}};
  const std::size_t begin = blocks_.empty() ? 0 : blocks_.back().last;
  if (block.first != begin || block.last <= begin || block.last > graph.nodes().size() || place.tiles().empty())
    return make_error(Code::invalid_argument, "blocks: operators " + std::to_string(block.first) + " to " +
                                                  std::to_string(block.last) + " do not follow " +
                                                  std::to_string(begin));
  MG_RETURN_IF_ERROR(add_cut(graph, block.first));
  std::set<net::Rank> seen;
  for (const TilePlace& tile : place.tiles()) {
    if (tile.rank() < 1 || tile.rank() >= ranks || !seen.insert(tile.rank()).second)
      return make_error(Code::invalid_argument, "blocks: rank " + std::to_string(tile.rank()) + " of a tile");
    block.parts.push_back({.rank = tile.rank(), .tile = region_of(tile), .input = {}, .output = {}});
  }
  if (block.is_tiled()) {
    MG_TRY(const TileSegment* segment, tiling.last_of(block.first, block.last));
    block.join = segment->join;
    std::vector<Region> tiles;
    for (const Part& part : block.parts) tiles.push_back(part.tile);
    if (!cover(tiles, segment->output))
      return make_error(Code::invalid_argument, "blocks: tiles that overlap, or leave something out");
  }
  for (Part& part : block.parts) {
    part.input = cuts_.back().plane;
    if (!block.is_tiled()) continue;
    MG_TRY(const TileCost cost, tiling.cost(block.first, block.last, part.tile));
    part.input = cost.input;
    if (block.join == TileJoin::place) part.output = part.tile;
  }
  blocks_.push_back(std::move(block));
  return {};
}

/// What a part makes is the whole value where the block has one part, or where it makes a summand of it.
Region TileLayout::piece(std::size_t block, const Part* from, const Part& to) const {
  const Region& plane = cuts_[block].plane;
  const bool has_all = from == nullptr || from->output.is_empty();
  return (has_all ? plane : from->output).intersection(to.input);
}

std::vector<net::Rank> TileLayout::senders(std::size_t block, const Part& to) const {
  if (block == 0) return {source_};
  std::vector<net::Rank> ranks;
  for (const Part& from : blocks_[block - 1].parts)
    if (!piece(block, &from, to).is_empty()) ranks.push_back(from.rank);
  return ranks;
}

void copy_region(const float* source, const Region& from, float* target, const Region& to, const Region& what,
                 std::int64_t planes) {
  const auto bytes = static_cast<std::size_t>(what.columns()) * sizeof(float);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const float* in = source + plane * from.area() + (what.top - from.top) * from.columns() + what.left - from.left;
    float* out = target + plane * to.area() + (what.top - to.top) * to.columns() + what.left - to.left;
    for (std::int64_t row = 0; row < what.rows(); ++row, in += from.columns(), out += to.columns())
      std::memcpy(out, in, bytes);
  }
}

}  // namespace mangrove::infer
