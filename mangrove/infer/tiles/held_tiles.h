#pragma once

#include <map>
#include <memory>

#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/pipeline/compiled_parts.h"
#include "mangrove/infer/tiles/layout.h"

namespace mangrove::infer {

/// The compiled tiles of one node.
/// threads: one at a time.
class HeldTiles {
 public:
  /// load: gives tiles their weights.
  HeldTiles(CompiledStageOptions options, net::Rank rank, LoadParameters load)
      : options_(std::move(options)), rank_(rank), load_(std::move(load)), parts_(options_.micro_batch) {}

  /// Compiles tiles that are new here, keeps those that it had before, and frees the others before that. errors: those
  /// of CompiledStage::create and Tiling::tile.
  Status place(const TileLayout& layout, const Graph& graph);

  /// The tile of this block. Null: the node has none, or the block is the answer. Its input has samples times channels
  /// times the part's input region, and its output likewise.
  CompiledStage* find(std::size_t block) const;

 private:
  Result<std::unique_ptr<CompiledStage>> compile(const TileLayout::Block& block, const TileLayout::Part& part,
                                                 const Graph& graph, const Tiling& tiling) const;

  const CompiledStageOptions options_;
  const net::Rank rank_;
  const LoadParameters load_;
  CompiledParts parts_;
  std::map<std::size_t, CompiledStage*> by_block_;
};

}  // namespace mangrove::infer
