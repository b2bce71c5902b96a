#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/region.h"

/// Tiled inference: a block of neighbouring operators is computed for each part of the plane by another device, and the
/// halo, what a part needs of its neighbours, by both.
/// source: Zhao, Barijough & Gerstlauer, DeepThings, IEEE TCAD 2018 (fused tile partitioning); Mao et al., MoDNN, DATE
/// 2017.
namespace mangrove {

/// How the tiles of a block become the value behind it.
enum class TileJoin {
  place,  // each tile is its own region of the value
  add,    // each tile is a summand of all of it: a global average, whose tiles are averages over a part of the plane
};

/// Neighbouring operators [first, last) of a graph, before and behind which one value crosses the cut (graph/cut.h),
/// and between which it does not. A block of tiles is one of these or several in succession.
struct TileSegment {
  std::size_t first = 0, last = 0;
  /// Each region of the value behind it can be computed from a region of the value before it, both f32 maps. False for
  /// what needs all of its input, such as a fully connected layer.
  bool can_be_tiled = false;
  TileJoin join = TileJoin::place;  // `add`: only the last segment of a block may be such
  Region input = {}, output = {};   // the whole planes before and behind it, if it can be tiled. With `add`, a tile of
                                    // the segment is a region of the plane that is averaged, and `output` is that plane
};

/// What a tile of a block costs.
struct TileCost {
  Region input;                // the region of the value before the block that it needs: with its halo
  std::vector<double> shares;  // of each operator of the block: the share of its output that is computed; of a global
                               // average, of its input
};

/// A tile of a block as a graph of its own. Its input is `input`, cut from the value before the block; its output is
/// that region of the value behind the block, or a summand of it. Operators keep their names, and parameters theirs.
/// Where the tile has no neighbour, operators pad as they do in the whole network; elsewhere they do not pad, since
/// the halo is there. So its values are those of the whole network.
struct TileGraph {
  Graph graph;
  Region input;
};

/// A graph's segments and their tiles. What operators need is found out once, so each question is answered quickly.
/// threads: any, at once.
class Tiling {
 public:
  /// The graph must live as long.
  explicit Tiling(const Graph& graph);

  /// Those of a graph with one input, in order: each begins where the one before ends. They are as small as possible,
  /// but an activation function is in one segment with the operator before it, a batch normalization with its
  /// convolution, and what makes other values than f32 maps [N, C, H, W] with what makes such ones of them again, if it
  /// can be tiled. Empty if the graph has several inputs.
  const std::vector<TileSegment>& segments() const;

  /// The last of the segments of operators [first, last). errors: invalid_argument (they are no segments that can be
  /// tiled together).
  Result<const TileSegment*> last_of(std::size_t first, std::size_t last) const;

  /// A tile of operators [first, last), which are one or several segments that can be tiled. output: a region of the
  /// value behind them (with TileJoin::add, of the plane that is averaged), not empty. What overlaps with other tiles
  /// is computed by each of them.
  /// errors: invalid_argument (not such operators; a region that is empty or not within the plane).
  /// cost: a few steps for each of the operators.
  Result<TileCost> cost(std::size_t first, std::size_t last, const Region& output) const;

  /// The graph of such a tile. errors: those of cost.
  Result<TileGraph> tile(std::size_t first, std::size_t last, const Region& output) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace mangrove
