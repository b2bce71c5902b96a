#include "mangrove/graph/window.h"

#include <algorithm>
#include <string>

namespace mangrove {
namespace {

// Keeps every product and sum below far from overflow, whatever a file says.
constexpr std::int64_t kLargest = std::int64_t{1} << 24;

std::string list(const std::vector<std::int64_t>& values) {
  return to_string(Shape(values));
}

// As the last ones of a pair; a missing height is `fallback`.
Window::Pair as_pair(const std::vector<std::int64_t>& values, std::int64_t fallback) {
  return values.size() == 1 ? Window::Pair{fallback, values[0]} : Window::Pair{values[0], values[1]};
}

Status count_positions(Window& window, const Shape& input, Rounding rounding) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t stride = window.strides[axis];
    const std::int64_t room =
        window.input[axis] + window.pads_begin[axis] + window.pads_end[axis] - window.extent(axis);
    if (room < 0) {
      return make_error(Code::invalid_argument, "a window of " + std::to_string(window.extent(0)) + " x " +
                                                    std::to_string(window.extent(1)) + " does not fit into input " +
                                                    to_string(input) + " with its padding");
    }
    window.output[axis] = room / stride + 1;
    const std::int64_t next = window.output[axis] * stride;  // where one more position would begin
    const bool sticks_out = room % stride != 0;
    if (rounding == Rounding::up && sticks_out && next < window.input[axis] + window.pads_begin[axis]) {
      ++window.output[axis];
    }
  }
  return {};
}

}  // namespace

Shape image_shape(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& spatial) {
  std::vector<std::int64_t> dims{batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return Shape(std::move(dims));
}

Result<std::vector<std::int64_t>> sizes_attribute(const Node& node, const std::string& key, std::size_t count,
                                                  std::int64_t fallback, std::int64_t least) {
  std::vector<std::int64_t> values = node.ints_or(key, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count) {
    return make_error(Code::invalid_argument,
                      "attribute " + key + " is " + list(values) + ", expected " + std::to_string(count) + " values");
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargest) {
      return make_error(Code::invalid_argument, "attribute " + key + " is " + list(values) + ", expected values from " +
                                                    std::to_string(least) + " to " + std::to_string(kLargest));
    }
  }
  return values;
}

Result<Padding> padding_of(const Node& node, std::size_t rank) {
  MG_TRY(const std::vector<std::int64_t> pads, sizes_attribute(node, "pads", 2 * rank, 0, 0));
  const std::string mode = node.string_or("auto_pad", "NOTSET");
  Padding padding;
  if (mode == "NOTSET") {
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    padding.begin = as_pair({pads.begin(), middle}, 0);
    padding.end = as_pair({middle, pads.end()}, 0);
    return padding;
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID") {
    return make_error(Code::invalid_argument,
                      "attribute auto_pad is '" + mode + "', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; })) {
    return make_error(Code::invalid_argument, "attributes pads " + list(pads) + " and auto_pad '" + mode +
                                                  "' contradict each other; give one of them");
  }
  padding.mode = mode == "VALID"        ? Padding::Mode::valid
                 : mode == "SAME_UPPER" ? Padding::Mode::same_upper
                                        : Padding::Mode::same_lower;
  return padding;
}

void Padding::split(std::size_t axis, std::int64_t total) {
  const std::int64_t smaller = total / 2;
  begin[axis] = mode == Mode::same_upper ? smaller : total - smaller;
  end[axis] = total - begin[axis];
}

Result<std::vector<std::int64_t>> kernel_attribute(const Node& node, std::size_t rank) {
  return sizes_attribute(node, "kernel_shape", rank, 0, 1);
}

Result<Window> window_without_padding(const Node& node, const Shape& input, const std::vector<std::int64_t>& kernel) {
  if ((input.rank() != 3 && input.rank() != 4) || !input.allows_batch_first()) {
    return make_error(Code::unimplemented,
                      "input has shape " + to_string(input) + ", expected [N, C, W] or [N, C, H, W]");
  }
  Window window;
  window.rank = input.rank() - 2;
  MG_TRY(const std::vector<std::int64_t> strides, sizes_attribute(node, "strides", window.rank, 1, 1));
  MG_TRY(const std::vector<std::int64_t> dilations, sizes_attribute(node, "dilations", window.rank, 1, 1));
  window.kernel = as_pair(kernel, 1);
  window.strides = as_pair(strides, 1);
  window.dilations = as_pair(dilations, 1);
  window.input = as_pair({input.begin() + 2, input.end()}, 1);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (window.input[axis] > kLargest || window.kernel[axis] > kLargest) {
      return make_error(Code::unimplemented, "input " + to_string(input) + " or kernel " + list(kernel) +
                                                 " is larger than " + std::to_string(kLargest));
    }
  }
  return window;
}

Result<Window> resolve_window(const Node& node, const Shape& input, const std::vector<std::int64_t>& kernel,
                              Rounding rounding) {
  MG_TRY(Window window, window_without_padding(node, input, kernel));
  MG_TRY(Padding padding, padding_of(node, window.rank));
  if (padding.mode == Padding::Mode::same_upper || padding.mode == Padding::Mode::same_lower) {
    for (std::size_t axis = 0; axis < 2; ++axis) {  // as many positions as ceil(input / stride)
      const std::int64_t positions = (window.input[axis] + window.strides[axis] - 1) / window.strides[axis];
      const std::int64_t covered = (positions - 1) * window.strides[axis] + window.extent(axis);
      padding.split(axis, std::max<std::int64_t>(covered - window.input[axis], 0));
    }
  }
  window.pads_begin = padding.begin;
  window.pads_end = padding.end;
  MG_RETURN_IF_ERROR(count_positions(window, input, rounding));
  return window;
}

}  // namespace mangrove
