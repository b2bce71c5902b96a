#include "mangrove/infer/tiles/held_tiles.h"

#include <fmt/format.h>

#include <set>
#include <string>

namespace mangrove::infer {
namespace {

/// Identifies a tile.
std::string key(const TileLayout::Block& block, const TileLayout::Part& part) {
  const Region tile = block.is_tiled() ? part.tile : Region{};
  return fmt::format("{} {} {} {} {} {}", block.first, block.last, tile.top, tile.left, tile.bottom, tile.right);
}

}  // namespace

Status HeldTiles::place(const TileLayout& layout, const Graph& graph) {
  by_block_.clear();
  std::map<std::size_t, const TileLayout::Part*> own;  // by block
  std::set<std::string> kept;
  for (std::size_t b = 0; b < layout.blocks().size(); ++b) {
    const TileLayout::Block& block = layout.blocks()[b];
    const TileLayout::Part* part = block.find(rank_);
    if (part == nullptr || block.is_answer()) continue;
    own[b] = part;
    kept.insert(key(block, *part));
  }
  parts_.keep(kept);
  const Tiling tiling(graph);
  for (const auto& [b, own_part] : own) {
    const TileLayout::Block& block = layout.blocks()[b];
    const TileLayout::Part& part = *own_part;
    MG_TRY(by_block_[b], parts_.get(key(block, part), [&] { return compile(block, part, graph, tiling); }));
  }
  return {};
}

Result<std::unique_ptr<CompiledStage>> HeldTiles::compile(const TileLayout::Block& block, const TileLayout::Part& part,
                                                          const Graph& graph, const Tiling& tiling) const {
  if (!block.is_tiled()) return CompiledStage::create(graph, block.first, block.last, options_, load_);
  MG_TRY(const TileGraph tile, tiling.tile(block.first, block.last, part.tile));
  return CompiledStage::create(tile.graph, 0, tile.graph.nodes().size(), options_, load_);
}

CompiledStage* HeldTiles::find(std::size_t block) const {
  const auto found = by_block_.find(block);
  return found == by_block_.end() ? nullptr : found->second;
}

}  // namespace mangrove::infer
