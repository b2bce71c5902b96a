#include "mangrove/graph/conv_geometry.h"

#include <string>

namespace mangrove {

Result<ConvGeometry> conv_geometry(const Node& node, const Shape& input, const Shape& weights) {
  if (input.rank() != 4 || weights.rank() != 4 || weights.is_symbolic() || !input.allows_batch_first()) {
    return make_error(Code::unimplemented, "input " + to_string(input) + " and weights " + to_string(weights) +
                                               ", expected a 2-d convolution of [N, C, H, W] with [M, C/group, H, W]");
  }
  ConvGeometry geometry;
  geometry.batch = input[0];
  geometry.input_channels = input[1];
  geometry.output_channels = weights[0];
  geometry.group = node.int_or("group", 1);
  if (geometry.group < 1 || input[1] % geometry.group != 0 || weights[0] % geometry.group != 0 ||
      weights[1] != input[1] / geometry.group) {
    return make_error(Code::invalid_argument, "channels of input " + to_string(input) + " and weights " +
                                                  to_string(weights) + " do not fit with group " +
                                                  std::to_string(geometry.group));
  }
  const std::array<std::int64_t, 2> kernel{weights[2], weights[3]};
  if (kernel[0] < 1 || kernel[1] < 1) {
    return make_error(Code::invalid_argument, "weights " + to_string(weights) + " have an empty kernel");
  }
  if (node.attributes.contains("kernel_shape")) {
    MG_TRY(const auto declared, kernel_attribute(node));
    if (declared != kernel) {
      return make_error(Code::invalid_argument, "attribute kernel_shape is " +
                                                    to_string(Shape{declared[0], declared[1]}) +
                                                    ", but weights have shape " + to_string(weights));
    }
  }
  MG_TRY(geometry.window, resolve_window(node, input, kernel));
  return geometry;
}

}  // namespace mangrove
