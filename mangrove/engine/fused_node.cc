#include "mangrove/engine/fused_node.h"

#include <limits>

namespace mangrove {

bool is_residual(const FusedNode& fused) {
  return fused.node.op == "Add" && fused.inputs[0].shape == fused.inputs[1].shape;
}

std::optional<ClipBounds> clip_bounds(const Node& node, std::span<const Tensor* const> constants) {
  ClipBounds bounds{std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    if (constants[i] == nullptr || constants[i]->dtype() != DType::f32) return std::nullopt;
    (i == 1 ? bounds.low : bounds.high) = constants[i]->as<float>()[0];
  }
  return bounds;
}

}  // namespace mangrove
