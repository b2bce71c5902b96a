#include "mangrove/graph/window.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mangrove {
namespace {

// Keeps every product and sum below far from overflow, whatever a file says.
constexpr std::int64_t kLargest = std::int64_t{1} << 24;

std::string list(const std::vector<std::int64_t>& values) {
  return to_string(Shape(values));
}

Result<std::vector<std::int64_t>> sizes_attribute(const Node& node, const std::string& key, std::size_t count,
                                                  std::int64_t fallback, std::int64_t least) {
  std::vector<std::int64_t> values = node.ints_or(key, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count) {
    return make_error(Code::invalid_argument, "attribute " + key + " is " + list(values) + ", expected " +
                                                  std::to_string(count) + " values (two spatial dimensions)");
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargest) {
      return make_error(Code::invalid_argument, "attribute " + key + " is " + list(values) + ", expected values from " +
                                                    std::to_string(least) + " to " + std::to_string(kLargest));
    }
  }
  return values;
}

// SAME: as many positions as ceil(input / stride); an odd row or column of padding goes to the end (upper) or begin.
void pad_same(Window& window, bool extra_at_end) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t positions = (window.input[axis] + window.strides[axis] - 1) / window.strides[axis];
    const std::int64_t covered = (positions - 1) * window.strides[axis] + window.extent(axis);
    const std::int64_t total = std::max<std::int64_t>(covered - window.input[axis], 0);
    const std::int64_t smaller = total / 2;
    window.pads_begin[axis] = extra_at_end ? smaller : total - smaller;
    window.pads_end[axis] = extra_at_end ? total - smaller : smaller;
  }
}

Status resolve_pads(const Node& node, Window& window) {
  MG_TRY(const std::vector<std::int64_t> pads, sizes_attribute(node, "pads", 4, 0, 0));
  const std::string mode = node.string_or("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    window.pads_begin = {pads[0], pads[1]};
    window.pads_end = {pads[2], pads[3]};
    return {};
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID") {
    return make_error(Code::invalid_argument,
                      "attribute auto_pad is '" + mode + "', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; })) {
    return make_error(Code::invalid_argument, "attributes pads " + list(pads) + " and auto_pad '" + mode +
                                                  "' contradict each other; give one of them");
  }
  if (mode != "VALID") pad_same(window, mode == "SAME_UPPER");
  return {};
}

}  // namespace

Result<std::array<std::int64_t, 2>> kernel_attribute(const Node& node) {
  MG_TRY(const std::vector<std::int64_t> sizes, sizes_attribute(node, "kernel_shape", 2, 0, 1));
  return std::array<std::int64_t, 2>{sizes[0], sizes[1]};
}

Result<Window> resolve_window(const Node& node, const Shape& input, std::array<std::int64_t, 2> kernel) {
  if (input.rank() != 4) {
    return make_error(Code::unimplemented, "input has shape " + to_string(input) + ", expected [N, C, H, W]");
  }
  MG_TRY(const std::vector<std::int64_t> strides, sizes_attribute(node, "strides", 2, 1, 1));
  MG_TRY(const std::vector<std::int64_t> dilations, sizes_attribute(node, "dilations", 2, 1, 1));
  Window window;
  window.kernel = kernel;
  window.strides = {strides[0], strides[1]};
  window.dilations = {dilations[0], dilations[1]};
  window.input = {input[2], input[3]};
  MG_RETURN_IF_ERROR(resolve_pads(node, window));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t room =
        window.input[axis] + window.pads_begin[axis] + window.pads_end[axis] - window.extent(axis);
    if (room < 0) {
      return make_error(Code::invalid_argument, "a window of " + std::to_string(window.extent(0)) + " x " +
                                                    std::to_string(window.extent(1)) + " does not fit into input " +
                                                    to_string(input) + " with its padding");
    }
    window.output[axis] = room / window.strides[axis] + 1;
  }
  return window;
}

}  // namespace mangrove
