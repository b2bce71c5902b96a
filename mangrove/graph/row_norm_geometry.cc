#include "mangrove/graph/row_norm_geometry.h"

#include "mangrove/graph/axis.h"

namespace mangrove {
namespace {

// Every row is one sample's (or position's) features: statistics over all dimensions from `axis` on.
Result<RowNormGeometry> layer_geometry(const Node& node, const Shape& input) {
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", -1), input));
  if (const auto batch = input.symbolic_axis(); batch && *batch >= axis) {
    return make_error(Code::unimplemented,
                      "axis " + std::to_string(axis) + " would normalise over the batch of input " + to_string(input));
  }
  RowNormGeometry geometry;
  geometry.rows = input.is_symbolic() ? kBatch : input.elements(0, axis);
  geometry.channels = input.elements(axis, input.rank());
  geometry.scale = Shape(std::vector<std::int64_t>(input.begin() + static_cast<std::ptrdiff_t>(axis), input.end()));
  geometry.statistics = input;
  for (std::size_t i = axis; i < input.rank(); ++i) geometry.statistics[i] = 1;
  return geometry;
}

// Every sample has one row for each group of channels.
Result<RowNormGeometry> group_geometry(const Shape& input, std::int64_t groups) {
  if (groups < 1 || input[1] % groups != 0) {
    return make_error(Code::invalid_argument, "channels of input " + to_string(input) + " do not divide into " +
                                                  std::to_string(groups) + " groups");
  }
  RowNormGeometry geometry;
  geometry.rows = input[0] < 0 ? kBatch : input[0] * groups;
  geometry.groups = groups;
  geometry.channels = input[1] / groups;
  geometry.plane = input.elements(2, input.rank());
  geometry.scale = Shape{input[1]};
  return geometry;
}

Result<RowNormGeometry> without_epsilon(const Node& node, const Shape& input) {
  if (node.op == "LayerNormalization") return layer_geometry(node, input);
  if (input.rank() < 3 || !input.allows_batch_first()) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(input) + ", expected [N, C, ...]");
  }
  return group_geometry(input, node.op == "InstanceNormalization" ? input[1] : node.int_or("num_groups", 0));
}

}  // namespace

Result<RowNormGeometry> row_norm_geometry(const Node& node, const Shape& input) {
  MG_TRY(RowNormGeometry geometry, without_epsilon(node, input));
  geometry.epsilon = node.float_or("epsilon", 1e-5f);
  if (geometry.length() < 1) {
    return make_error(Code::invalid_argument, "input " + to_string(input) + " has nothing to normalise over");
  }
  return geometry;
}

}  // namespace mangrove
