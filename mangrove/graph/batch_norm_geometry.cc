#include "mangrove/graph/batch_norm_geometry.h"

namespace mangrove {

Result<BatchNormGeometry> batch_norm_geometry(const Node& node, const Shape& input) {
  if (input.rank() < 2) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(input) + ", expected [N, C, ...]");
  }
  for (std::size_t i = 1; i < input.rank(); ++i) {
    if (input[i] >= 0) continue;
    return make_error(Code::unimplemented,
                      "input has shape " + to_string(input) + ", expected the batch to be dimension 0");
  }
  BatchNormGeometry geometry;
  geometry.batch = input[0];
  geometry.channels = input[1];
  geometry.plane = input.elements(2, input.rank());
  geometry.epsilon = node.float_or("epsilon", 1e-5f);
  geometry.momentum = node.float_or("momentum", 0.9f);
  return geometry;
}

}  // namespace mangrove
