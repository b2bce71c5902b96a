#include "mangrove/graph/pool_geometry.h"

#include <string>

namespace mangrove {
namespace {

Status check_supported(const Node& node, const Window& window) {
  for (const char* key : {"ceil_mode", "storage_order"}) {
    if (const std::int64_t value = node.int_or(key, 0); value != 0) {
      return make_error(Code::unimplemented,
                        std::string("attribute ") + key + " is " + std::to_string(value) + ", only 0 is supported");
    }
  }
  if (window.dilations != std::array<std::int64_t, 2>{1, 1}) {
    return make_error(Code::unimplemented, "dilated pooling is not supported");
  }
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (window.pads_begin[axis] >= window.kernel[axis] || window.pads_end[axis] >= window.kernel[axis]) {
      return make_error(Code::invalid_argument, "padding must be smaller than the kernel in every dimension");
    }
  }
  return {};
}

}  // namespace

Result<PoolGeometry> pool_geometry(const Node& node, const Shape& input) {
  if (input.rank() != 4 || !input.allows_batch_first() || input[2] < 1 || input[3] < 1) {
    return make_error(Code::unimplemented, "input has shape " + to_string(input) + ", expected [N, C, H, W]");
  }
  PoolGeometry geometry;
  geometry.batch = input[0];
  geometry.channels = input[1];
  if (node.op == "GlobalAveragePool") {
    geometry.window.kernel = {input[2], input[3]};
    geometry.window.input = geometry.window.kernel;
    return geometry;
  }
  MG_TRY(const auto kernel, kernel_attribute(node));
  MG_TRY(geometry.window, resolve_window(node, input, kernel));
  MG_RETURN_IF_ERROR(check_supported(node, geometry.window));
  geometry.count_include_pad = node.int_or("count_include_pad", 0) != 0;
  return geometry;
}

}  // namespace mangrove
