#pragma once

#include <cstddef>
#include <map>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/tile_reads.h"

/// How a node changes that is to make a region only: the column `change` of the table in tile_rules.cc.
namespace mangrove {

/// Constants in the place of others, by their positions among a node's inputs.
using NewConstants = std::map<std::size_t, Tensor>;

struct TileChange {
  const Graph& graph;  // the whole one
  const TileReads& reads;
  const Region& made;
  Node& node;  // a copy, with the inputs' names in the whole graph
};

/// Nothing changes.
NewConstants keep_node(TileChange& tile);
/// Conv and pools: the padding of this tile, given as numbers.
NewConstants set_padding(TileChange& tile);
/// ConvTranspose: which cuts off what it makes of the halo.
NewConstants set_transposed_padding(TileChange& tile);
/// Elementwise operators: regions of constants that have a plane.
NewConstants cut_planes(TileChange& tile);
/// Reshape: the size of the tile.
NewConstants set_plane_of_shape(TileChange& tile);
/// Resize: the same, where it has sizes.
NewConstants set_sizes(TileChange& tile);
/// Slice: all of the region that is read, at the same steps.
NewConstants set_starts_and_ends(TileChange& tile);
/// Pad: what it adds to this tile.
NewConstants set_pads(TileChange& tile);

/// Whether a constant, broadcast to maps, has a value for each row or each column.
bool has_plane(const Shape& constant);

}  // namespace mangrove
