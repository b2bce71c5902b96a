#include "mangrove/graph/pool_geometry.h"

#include <string>

namespace mangrove {
namespace {

Status check_coverage(const Window& window) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t extent = window.extent(axis);
    if (window.pads_begin[axis] >= extent || window.pads_end[axis] >= extent) {
      return make_error(Code::invalid_argument, "padding must be smaller than the kernel in every dimension");
    }
    const bool is_padded = window.pads_begin[axis] > 0 || window.pads_end[axis] > 0;
    if (is_padded && window.dilations[axis] > window.input[axis]) {
      return make_error(Code::unimplemented, "a padded window dilated by " + std::to_string(window.dilations[axis]) +
                                                 " can miss all of an input of " + std::to_string(window.input[axis]));
    }
  }
  return {};
}

// One window over everything after the channels, seen as a signal.
PoolGeometry global_geometry(PoolGeometry geometry, const Shape& input) {
  geometry.window.rank = 1;
  geometry.window.input = {1, input.elements(2, input.rank())};
  geometry.window.kernel = geometry.window.input;
  geometry.output = image_shape(input[0], input[1], std::vector<std::int64_t>(input.rank() - 2, 1));
  return geometry;
}

}  // namespace

Result<PoolGeometry> pool_geometry(const Node& node, const Shape& input) {
  if (input.rank() < 3 || !input.allows_batch_first() || input.elements(2, input.rank()) < 1) {
    return make_error(Code::unimplemented,
                      "input has shape " + to_string(input) + ", expected [N, C, ...] with at least one element");
  }
  PoolGeometry geometry;
  geometry.batch = input[0];
  geometry.channels = input[1];
  if (node.op.starts_with("Global")) return global_geometry(std::move(geometry), input);
  MG_TRY(const auto kernel, kernel_attribute(node, input.rank() - 2));
  const Rounding rounding = node.int_or("ceil_mode", 0) != 0 ? Rounding::up : Rounding::down;
  MG_TRY(geometry.window, resolve_window(node, input, kernel, rounding));
  MG_RETURN_IF_ERROR(check_coverage(geometry.window));
  geometry.output = image_shape(input[0], input[1], geometry.window.spatial(geometry.window.output));
  geometry.count_include_pad = node.int_or("count_include_pad", 0) != 0;
  geometry.column_major = node.int_or("storage_order", 0) != 0;
  return geometry;
}

}  // namespace mangrove
