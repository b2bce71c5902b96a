#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2}));
  const Shape& weights = inputs.values[1]->shape;
  MG_TRY(const ConvGeometry geometry, conv_geometry(node, inputs.values[0]->shape, weights));
  if (const ValueInfo* bias = optional_input(inputs, 2); bias != nullptr && bias->shape != Shape{weights[0]}) {
    return make_error(Code::invalid_argument, "bias has shape " + to_string(bias->shape) + ", expected [" +
                                                  std::to_string(weights[0]) + "] for weights " + to_string(weights));
  }
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, geometry.output_shape()}};
}

// The bias is where the accumulators start, so it costs no operation.
OperatorCost cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const Shape& weights = inputs.values[1]->shape;
  return elementwise_cost(inputs, outputs, 2 * static_cast<double>(weights.elements(1, weights.rank())), {1, 2});
}

/// Conv: Y[n, m, y, x] = B[m] + sum over c, i, j of X[n, c, y s + i d - p, x s + j d - p] W[m, c, i, j].
Operator conv() {
  using enum Operator::AttributeKind;
  return {.type = "Conv",
          .min_inputs = 2,
          .max_inputs = 3,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"auto_pad", string},
                         {"dilations", integers},
                         {"group", integer},
                         {"kernel_shape", integers},
                         {"pads", integers},
                         {"strides", integers}},
          .parameters = {1, 2},
          .infer = infer,
          .cost = cost};
}

}  // namespace

std::vector<Operator> convolutions() {
  return {conv()};
}

}  // namespace mangrove::rows
