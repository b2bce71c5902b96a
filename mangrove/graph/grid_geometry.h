#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A GridSample node resolved against its shapes: output [N, C, H', W'] from data [N, C, H, W] at the points of a grid
/// [N, H', W', 2], whose -1 and 1 are the borders of the data (align_corners: the centres of its outermost elements).
struct GridGeometry {
  enum class Padding { zeros, border, reflection };  // what lies outside of the data
  std::int64_t batch, channels, height, width;       // of the data; the batch may be symbolic
  std::int64_t output_height, output_width;
  bool is_nearest = false;  // else bilinear
  bool align_corners = false;
  Padding padding = Padding::zeros;

  Shape output() const { return {batch, channels, output_height, output_width}; }
};

/// errors: invalid_argument (shapes or attributes that do not fit), unimplemented (other ranks, mode bicubic).
Result<GridGeometry> grid_geometry(const Node& node, const Shape& data, const Shape& grid);

}  // namespace mangrove
