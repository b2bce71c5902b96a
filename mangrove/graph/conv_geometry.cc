#include "mangrove/graph/conv_geometry.h"

#include <algorithm>
#include <string>

namespace mangrove {
namespace {

std::string both(const Shape& input, const Shape& weights) {
  return "input " + to_string(input) + " and weights " + to_string(weights);
}

// The kernel's sizes: those of the weights, which the attribute kernel_shape may repeat.
Result<std::vector<std::int64_t>> kernel_of(const Node& node, const Shape& input, const Shape& weights) {
  if ((input.rank() != 3 && input.rank() != 4) || weights.rank() != input.rank() || weights.is_symbolic()) {
    return make_error(Code::unimplemented, both(input, weights) +
                                               ", expected a convolution of [N, C, W] with [M, C/group, W] or of " +
                                               "[N, C, H, W] with [M, C/group, H, W]");
  }
  std::vector<std::int64_t> kernel(weights.begin() + 2, weights.end());
  if (std::any_of(kernel.begin(), kernel.end(), [](std::int64_t size) { return size < 1; })) {
    return make_error(Code::invalid_argument, "weights " + to_string(weights) + " have an empty kernel");
  }
  if (node.attributes.contains("kernel_shape")) {
    MG_TRY(const auto declared, kernel_attribute(node, kernel.size()));
    if (declared != kernel) {
      return make_error(Code::invalid_argument, "attribute kernel_shape is " + to_string(Shape(declared)) +
                                                    ", but weights have shape " + to_string(weights));
    }
  }
  return kernel;
}

Error misfit(const Shape& input, const Shape& weights, std::int64_t group) {
  return make_error(Code::invalid_argument,
                    "channels of " + both(input, weights) + " do not fit with group " + std::to_string(group));
}

// Padding in rows or columns of the result, which it makes smaller; negative where output_padding makes it larger.
Status resolve_transposed_padding(const Node& node, Window& window) {
  MG_TRY(Padding padding, padding_of(node, window.rank));
  MG_TRY(const auto extra, sizes_attribute(node, "output_padding", window.rank, 0, 0));
  const bool has_shape = node.attributes.contains("output_shape");
  MG_TRY(const auto shape, sizes_attribute(node, "output_shape", window.rank, 1, 1));
  const bool same = padding.mode == Padding::Mode::same_upper || padding.mode == Padding::Mode::same_lower;
  for (std::size_t i = 0; i < window.rank; ++i) {
    const std::size_t axis = i + 2 - window.rank;
    const std::int64_t full = (window.output[axis] - 1) * window.strides[axis] + window.extent(axis) + extra[i];
    if (has_shape || same) {
      window.input[axis] = has_shape ? shape[i] : window.output[axis] * window.strides[axis];
      padding.split(axis, std::max<std::int64_t>(full - window.input[axis], 0));
    } else {
      window.input[axis] = full - padding.begin[axis] - padding.end[axis];
    }
    if (window.input[axis] < 1) {
      return make_error(Code::invalid_argument, "padding leaves nothing of a result of " + std::to_string(full));
    }
    window.pads_begin[axis] = padding.begin[axis];
    window.pads_end[axis] = full - extra[i] - window.input[axis] - padding.begin[axis];
  }
  return {};
}

}  // namespace

Result<ConvGeometry> conv_geometry(const Node& node, const Shape& input, const Shape& weights) {
  MG_TRY(const std::vector<std::int64_t> kernel, kernel_of(node, input, weights));
  ConvGeometry geometry;
  geometry.batch = input[0];
  geometry.input_channels = input[1];
  geometry.output_channels = weights[0];
  geometry.group = node.int_or("group", 1);
  if (geometry.group < 1 || input[1] % geometry.group != 0 || weights[0] % geometry.group != 0 ||
      weights[1] != input[1] / geometry.group) {
    return misfit(input, weights, geometry.group);
  }
  MG_TRY(geometry.window, resolve_window(node, input, kernel));
  return geometry;
}

Result<ConvGeometry> conv_transpose_geometry(const Node& node, const Shape& input, const Shape& weights) {
  MG_TRY(const std::vector<std::int64_t> kernel, kernel_of(node, input, weights));
  ConvGeometry geometry;
  geometry.batch = input[0];
  geometry.group = node.int_or("group", 1);
  geometry.output_channels = input[1];
  if (geometry.group < 1 || input[1] % geometry.group != 0 || weights[0] != input[1]) {
    return misfit(input, weights, geometry.group);
  }
  geometry.input_channels = weights[1] * geometry.group;
  MG_TRY(geometry.window, window_without_padding(node, input, kernel));
  std::swap(geometry.window.input, geometry.window.output);
  MG_RETURN_IF_ERROR(resolve_transposed_padding(node, geometry.window));
  return geometry;
}

}  // namespace mangrove
