#include "mangrove/infer/tiles/held_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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
  std::set<std::string> kept;
  for (const TileLayout::Block& block : layout.blocks())
    if (const TileLayout::Part* part = block.find(rank_); part != nullptr && !block.is_answer())
      kept.insert(key(block, *part));
  std::erase_if(by_key_, [&](const auto& held) { return !kept.contains(held.first); });
  for (std::size_t b = 0; b < layout.blocks().size(); ++b) {
    const TileLayout::Block& block = layout.blocks()[b];
    const TileLayout::Part* part = block.find(rank_);
    if (part == nullptr || block.is_answer()) continue;
    std::shared_ptr<CompiledStage>& tile = by_key_[key(block, *part)];
    if (tile == nullptr) {
      MG_TRY(tile, compile(block, *part, graph));
      std::ranges::fill(tile->input(options_.micro_batch), 0.0f);
      tile->run(options_.micro_batch);  // touches all memory before the time counts
    }
    by_block_[b] = tile;
  }
  return {};
}

Result<std::shared_ptr<CompiledStage>> HeldTiles::compile(const TileLayout::Block& block, const TileLayout::Part& part,
                                                          const Graph& graph) const {
  if (!block.is_tiled()) {
    MG_TRY(std::shared_ptr<CompiledStage> whole,
           CompiledStage::create(graph, block.first, block.last, options_, load_));
    return whole;
  }
  MG_TRY(const TileGraph tile, Tiling(graph).tile(block.first, block.last, part.tile));
  MG_TRY(std::shared_ptr<CompiledStage> compiled,
         CompiledStage::create(tile.graph, 0, tile.graph.nodes().size(), options_, load_));
  return compiled;
}

CompiledStage* HeldTiles::find(std::size_t block) const {
  const auto found = by_block_.find(block);
  return found == by_block_.end() ? nullptr : found->second.get();
}

}  // namespace mangrove::infer
