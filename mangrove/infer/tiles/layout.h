#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mangrove/graph/tile.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Who computes which tile of a network, and which regions of values travel from whom to whom: a PLACE command of the
/// strategy "tiles", resolved against its graph. Immutable.
///
/// Where the last operators are in tiles, there is one more block without operators, on the source: the answer. There
/// is a cut before each block, and one behind the last. One value crosses each: a map [N, C, H, W], or a value of
/// another shape as a map [N, elements, 1, 1].
class TileLayout {
 public:
  /// The value at a cut.
  struct Cut {
    std::int64_t channels = 0;
    Region plane;

    std::int64_t elements(const Region& region, std::int64_t samples) const {
      return samples * channels * region.area();
    }
  };
  struct Part {
    net::Rank rank = 0;
    Region tile;    // of the block, as Tiling::tile() takes it
    Region input;   // of the value before the block that it needs, with its halo
    Region output;  // of the value behind the block that it makes, or makes a summand of
  };
  struct Block {
    std::size_t first = 0, last = 0;  // operators
    TileJoin join = TileJoin::place;
    std::vector<Part> parts;

    bool is_tiled() const { return parts.size() > 1; }
    /// Behind the last operators, whose tiles it only puts together.
    bool is_answer() const { return first == last; }
    /// Nothing: the rank has no tile of the block.
    const Part* find(net::Rank rank) const;
  };

  /// ranks: of the job. errors: invalid_argument (operators are missing or twice; tiles that overlap or do not cover
  /// the plane; operators that cannot be tiled; a rank that does not exist, or has two tiles of a block; more than one
  /// value crosses a cut).
  static Result<TileLayout> create(const Graph& graph, const Command& command, int ranks);

  const std::vector<Block>& blocks() const { return blocks_; }
  /// The cut before this block; for the number of blocks, that behind the last.
  const Cut& cut(std::size_t block) const { return cuts_[block]; }
  net::Rank source() const { return source_; }

  /// The region of the cut before `block` that a part of the block before, or the source, sends to a part of it. Empty:
  /// it sends nothing.
  Region piece(std::size_t block, const Part* from, const Part& to) const;
  /// The ranks that send pieces to a part of this block, in the order in which summands are added.
  std::vector<net::Rank> senders(std::size_t block, const Part& to) const;

 private:
  Status add_block(const Graph& graph, const Tiling& tiling, const TileBlockPlace& place, int ranks);
  Status add_cut(const Graph& graph, std::size_t position);
  void add_answer();

  net::Rank source_ = 0;
  std::vector<Block> blocks_;
  std::vector<Cut> cuts_;
};

/// Copies a region of a map to another one of the same planes. planes: samples times channels. from, to: the regions
/// that the arrays hold. REQUIRES: both contain `what`.
void copy_region(const float* source, const Region& from, float* target, const Region& to, const Region& what,
                 std::int64_t planes);

}  // namespace mangrove::infer
