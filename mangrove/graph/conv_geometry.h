#pragma once

#include "mangrove/graph/window.h"

namespace mangrove {

/// A Conv node resolved against its shapes: what a kernel needs and nothing to parse.
/// Output [N, M, H', W'] from input [N, C, H, W] and weights [M, C / group, kernel height, kernel width].
struct ConvGeometry {
  std::int64_t batch = 1;  // kBatch where it is symbolic
  std::int64_t input_channels = 1;
  std::int64_t output_channels = 1;
  std::int64_t group = 1;  // input and output channels are split into this many independent convolutions
  Window window;

  std::int64_t input_channels_per_group() const { return input_channels / group; }
  std::int64_t output_channels_per_group() const { return output_channels / group; }
  Shape output_shape() const { return {batch, output_channels, window.output[0], window.output[1]}; }
};

/// errors: invalid_argument (shapes or attributes do not fit together), unimplemented (not 2-d).
Result<ConvGeometry> conv_geometry(const Node& node, const Shape& input, const Shape& weights);

}  // namespace mangrove
