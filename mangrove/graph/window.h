#pragma once

#include <array>
#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A 2-d window sliding over an image, as Conv and the pooling operators use it: attributes strides, dilations, pads
/// and auto_pad resolved to numbers. Index 0 is the height, 1 the width.
struct Window {
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilations{1, 1};   // distance between neighbouring taps; 1 is dense
  std::array<std::int64_t, 2> pads_begin{0, 0};  // rows above, columns to the left
  std::array<std::int64_t, 2> pads_end{0, 0};    // rows below, columns to the right
  std::array<std::int64_t, 2> input{1, 1};       // [H, W] before padding
  std::array<std::int64_t, 2> output{1, 1};      // [H, W] of positions

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Rows or columns that the dilated kernel spans.
  std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

/// The window of `node` over an input [N, C, H, W].
/// errors: invalid_argument: rank not 4, attributes of the wrong length or sign, window larger than the padded input.
Result<Window> resolve_window(const Node& node, const Shape& input, std::array<std::int64_t, 2> kernel);

/// The attribute kernel_shape; errors: invalid_argument unless it has two sizes.
Result<std::array<std::int64_t, 2>> kernel_attribute(const Node& node);

}  // namespace mangrove
