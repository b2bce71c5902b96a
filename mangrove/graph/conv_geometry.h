#pragma once

#include "mangrove/graph/window.h"

namespace mangrove {

/// A Conv node resolved against its shapes: what a kernel needs and nothing to parse.
/// Output [N, M, H', W'] from input [N, C, H, W] and weights [M, C / group, kernel height, kernel width]; without H in
/// one dimension.
struct ConvGeometry {
  std::int64_t batch = 1;  // negative where it is symbolic
  std::int64_t input_channels = 1;
  std::int64_t output_channels = 1;
  std::int64_t group = 1;  // input and output channels are split into this many independent convolutions
  Window window;

  std::int64_t input_channels_per_group() const { return input_channels / group; }
  std::int64_t output_channels_per_group() const { return output_channels / group; }
  Shape input_shape() const { return image_shape(batch, input_channels, window.spatial(window.input)); }
  Shape output_shape() const { return image_shape(batch, output_channels, window.spatial(window.output)); }
};

/// errors: invalid_argument (shapes or attributes do not fit together), unimplemented (neither 1-d nor 2-d).
Result<ConvGeometry> conv_geometry(const Node& node, const Shape& input, const Shape& weights);

/// A ConvTranspose node from input [N, C, H, W] and weights [C, M / group, kernel height, kernel width], as the
/// convolution that it is the transpose of: that one's *output* is the node's input, its *input* the node's output
/// (attributes pads, output_padding, output_shape and auto_pad resolved), with the same weights. Rows and columns that
/// output_padding adds are covered by no window; its pads_end is then negative.
/// errors: as conv_geometry.
Result<ConvGeometry> conv_transpose_geometry(const Node& node, const Shape& input, const Shape& weights);

}  // namespace mangrove
