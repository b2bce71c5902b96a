#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  MG_TRY(const PoolGeometry geometry, pool_geometry(node, inputs.values[0]->shape));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, geometry.output}};
}

Result<std::vector<ValueInfo>> infer_max(const Node& node, const OperatorInputs& inputs) {
  const DType dtype = inputs.values[0]->dtype;
  if (dtype != DType::u8 && dtype != DType::i8) MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  MG_TRY(const PoolGeometry geometry, pool_geometry(node, inputs.values[0]->shape));
  return std::vector<ValueInfo>{{dtype, geometry.output}, {DType::i64, geometry.output}};
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

/// MaxPool: the largest element that each window covers; output 1 is where it was in the flat input.
Operator max_pool() {
  using enum Operator::AttributeKind;
  Operator row = pool("MaxPool", {{"auto_pad", string},
                                  {"ceil_mode", integer},
                                  {"dilations", integers},
                                  {"kernel_shape", integers},
                                  {"pads", integers},
                                  {"storage_order", integer},
                                  {"strides", integers}});
  row.max_outputs = 2;
  row.infer = infer_max;
  return row;
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

/// GlobalAveragePool: the mean over all dimensions after the channels: [N, C, H, W] to [N, C, 1, 1].
Operator global_average_pool() {
  return pool("GlobalAveragePool", {});
}

/// GlobalMaxPool: the largest element over the same.
Operator global_max_pool() {
  return pool("GlobalMaxPool", {});
}

}  // namespace

std::vector<Operator> pools() {
  return {max_pool(), average_pool(), global_average_pool(), global_max_pool()};
}

}  // namespace mangrove::rows
