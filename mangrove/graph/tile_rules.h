#pragma once

#include <set>
#include <string>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/tile_changes.h"
#include "mangrove/graph/tile_reads.h"

/// What each operator needs for a region of its output, and how its node changes to make no more than that: a table
/// with a row for each operator of which there can be tiles. Regions concern the last two dimensions of maps, values of
/// rank 3 or more: the plane.
namespace mangrove {

/// Whether this can be the shape of a map.
bool is_map(const Shape& shape);

/// learned: graph.parameters(). They are never cut: a program may get them later, and whole.
TileReads tile_reads(const Graph& graph, const Node& node, const std::set<std::string>& learned);

/// Does the change of the operator's row. REQUIRES tile.reads.can_be_tiled(), and a region that TileReads::made
/// returned.
NewConstants change_for_tile(TileChange& tile);

}  // namespace mangrove
