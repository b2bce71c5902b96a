#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "mangrove/graph/region.h"
#include "mangrove/graph/tile_axis.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// Rows (axis 0) or columns (axis 1) of the planes of maps of this shape: its last two dimensions.
inline std::int64_t plane_size(const Shape& map, std::size_t axis) {
  return map[map.rank() - 2 + axis];
}

/// Rows (axis 0) or columns (axis 1) of a region.
inline Interval interval(const Region& region, std::size_t axis) {
  return axis == 0 ? Interval{region.top, region.bottom} : Interval{region.left, region.right};
}

/// An input of a node that is a map.
struct TileRead {
  std::size_t input = 0;           // position among the node's inputs
  std::array<TileAxis, 2> axes{};  // rows, columns

  /// The region of it for a region that is made: see rows_read.
  Region read(const Region& made) const;
};

/// What a tile of a node needs of its inputs.
struct TileReads {
  std::vector<TileRead> maps = {};  // all its inputs that are no constants; none: there cannot be tiles of it
  bool averages = false;            // it makes the mean of all of the input's plane, and a tile that of a region of it

  bool can_be_tiled() const { return !maps.empty(); }
  /// The whole plane that it makes, or that is averaged.
  Region plane() const { return {0, 0, maps[0].axes[0].output, maps[0].axes[1].output}; }
  /// The region that a tile's node makes, or averages, so that this one is in it and right: see rows_made.
  Region made(const Region& wanted) const;
};

}  // namespace mangrove
