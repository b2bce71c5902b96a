#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  MG_TRY(const PoolGeometry geometry, pool_geometry(node, inputs.values[0]->shape));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, geometry.output_shape()}};
}

// One comparison or addition per tap.
OperatorCost cost(const Node& node, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const PoolGeometry geometry = pool_geometry(node, inputs.values[0]->shape).value();
  return elementwise_cost(inputs, outputs, static_cast<double>(geometry.window.taps()));
}

Operator pool(std::string_view type, std::vector<Operator::AttributeRule> attributes) {
  return {.type = type,
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = std::move(attributes),
          .parameters = {},
          .infer = infer,
          .cost = cost};
}

/// MaxPool: the largest element that each window covers.
Operator max_pool() {
  using enum Operator::AttributeKind;
  return pool("MaxPool", {{"auto_pad", string},
                          {"ceil_mode", integer},
                          {"dilations", integers},
                          {"kernel_shape", integers},
                          {"pads", integers},
                          {"storage_order", integer},
                          {"strides", integers}});
}

/// AveragePool: the mean of the elements that each window covers; with count_include_pad, of all its taps.
Operator average_pool() {
  using enum Operator::AttributeKind;
  return pool("AveragePool", {{"auto_pad", string},
                              {"ceil_mode", integer},
                              {"count_include_pad", integer},
                              {"kernel_shape", integers},
                              {"pads", integers},
                              {"strides", integers}});
}

/// GlobalAveragePool: the mean over H and W: [N, C, H, W] to [N, C, 1, 1].
Operator global_average_pool() {
  return pool("GlobalAveragePool", {});
}

}  // namespace

std::vector<Operator> pools() {
  return {max_pool(), average_pool(), global_average_pool()};
}

}  // namespace mangrove::rows
