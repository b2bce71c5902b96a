#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A 1-d or 2-d window sliding over a signal or image, as Conv and the pooling operators use it: attributes strides,
/// dilations, pads and auto_pad resolved to numbers. Index 0 is the height, 1 the width; a signal is an image of
/// height 1.
struct Window {
  using Pair = std::array<std::int64_t, 2>;

  std::size_t rank = 2;  // spatial dimensions: 1 or 2
  Pair kernel{1, 1};
  Pair strides{1, 1};
  Pair dilations{1, 1};   // distance between neighbouring taps; 1 is dense
  Pair pads_begin{0, 0};  // rows above, columns to the left
  Pair pads_end{0, 0};    // rows below, columns to the right
  Pair input{1, 1};       // [H, W] before padding
  Pair output{1, 1};      // [H, W] of positions

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t input_plane() const { return input[0] * input[1]; }
  std::int64_t output_plane() const { return output[0] * output[1]; }
  /// Rows or columns that the dilated kernel spans.
  std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  /// The `rank` numbers of the dimensions that there are: [W] or [H, W].
  std::vector<std::int64_t> spatial(const Pair& pair) const { return {pair.end() - rank, pair.end()}; }
};

/// The tensor shape [N, C, W] or [N, C, H, W].
Shape image_shape(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& spatial);

/// Rounding of the number of positions where the last one sticks out of the padded input: it is dropped, or kept if it
/// begins inside the input or the padding before it (as PyTorch does, and ONNX since opset 19).
enum class Rounding { down, up };

/// The window of `node` over an input [N, C, W] or [N, C, H, W].
/// errors: invalid_argument: attributes of the wrong length or sign, window larger than the padded input;
/// unimplemented: other ranks, the batch not first.
Result<Window> resolve_window(const Node& node, const Shape& input, const std::vector<std::int64_t>& kernel,
                              Rounding rounding = Rounding::down);

/// The parts of it, for operators that use them otherwise: a window with rank, kernel, strides, dilations and input.
Result<Window> window_without_padding(const Node& node, const Shape& input, const std::vector<std::int64_t>& kernel);

/// An attribute of one number in [least, 2^24] for each of `count` things, or that many of `fallback`.
/// errors: invalid_argument.
Result<std::vector<std::int64_t>> sizes_attribute(const Node& node, const std::string& key, std::size_t count,
                                                  std::int64_t fallback, std::int64_t least);

/// The attributes pads and auto_pad, which must not contradict each other.
struct Padding {
  enum class Mode { given, same_upper, same_lower, valid };
  Mode mode = Mode::given;
  Window::Pair begin{0, 0}, end{0, 0};  // of mode given

  /// Splits `total` rows or columns of padding: the odd one goes to the end (same_upper) or to the begin.
  void split(std::size_t axis, std::int64_t total);
};
Result<Padding> padding_of(const Node& node, std::size_t rank);

/// The attribute kernel_shape. errors: invalid_argument unless it has `rank` sizes.
Result<std::vector<std::int64_t>> kernel_attribute(const Node& node, std::size_t rank);

}  // namespace mangrove
