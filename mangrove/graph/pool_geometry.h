#pragma once

#include "mangrove/graph/window.h"

namespace mangrove {

/// A MaxPool, AveragePool or GlobalAveragePool node resolved against its input [N, C, H, W]; output [N, C, H', W'].
/// Padding is smaller than the kernel, so every window covers at least one element of the input.
struct PoolGeometry {
  std::int64_t batch = 1;  // kBatch where it is symbolic
  std::int64_t channels = 1;
  bool count_include_pad = false;  // averages: padding counts as zeros; else a window's mean is over what it covers
  Window window;

  Shape output_shape() const { return {batch, channels, window.output[0], window.output[1]}; }
};

/// errors: invalid_argument (attributes do not fit), unimplemented (not 2-d, ceil_mode, dilations, storage_order).
Result<PoolGeometry> pool_geometry(const Node& node, const Shape& input);

}  // namespace mangrove
