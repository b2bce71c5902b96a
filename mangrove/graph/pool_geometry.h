#pragma once

#include "mangrove/graph/window.h"

namespace mangrove {

/// A MaxPool, AveragePool, GlobalMaxPool or GlobalAveragePool node resolved against its input [N, C, H, W] (without H
/// in one dimension; the global ones see any number of dimensions as one); output [N, C, H', W']. Padding is smaller
/// than the kernel, so every window covers at least one element of the input.
struct PoolGeometry {
  std::int64_t batch = 1;  // negative where it is symbolic
  std::int64_t channels = 1;
  bool count_include_pad = false;  // averages: padding counts as zeros; else a window's mean is over what it covers
  bool column_major = false;       // MaxPool: its indices count down the columns of a plane
  Shape output;
  Window window;
};

/// errors: invalid_argument (attributes do not fit), unimplemented (neither 1-d nor 2-d, gaps wider than the input).
Result<PoolGeometry> pool_geometry(const Node& node, const Shape& input);

}  // namespace mangrove
