#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const OperatorInputs& inputs, std::int64_t channels, Shape output) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2}));
  if (const ValueInfo* bias = optional_input(inputs, 2); bias != nullptr && bias->shape != Shape{channels}) {
    return make_error(Code::invalid_argument, "bias has shape " + to_string(bias->shape) + ", expected [" +
                                                  std::to_string(channels) + "] for weights " +
                                                  to_string(inputs.values[1]->shape));
  }
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(output)}};
}

Result<std::vector<ValueInfo>> infer_conv(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(const ConvGeometry geometry, conv_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  return infer(inputs, geometry.output_channels, geometry.output_shape());
}

Result<std::vector<ValueInfo>> infer_transpose(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(const ConvGeometry geometry, conv_transpose_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  return infer(inputs, geometry.input_channels, geometry.input_shape());
}

// Each element of `image` meets the weights of one channel. The bias is where the accumulators start: no operation.
OperatorCost cost(const OperatorInputs& inputs, std::span<const ValueInfo> outputs, const Shape& image) {
  const Shape& weights = inputs.values[1]->shape;
  OperatorCost cost = traffic(inputs, outputs, {1, 2});
  cost.flops = 2 * static_cast<double>(weights.elements(1, weights.rank())) * static_cast<double>(image.elements());
  return cost;
}

OperatorCost conv_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return cost(inputs, outputs, outputs[0].shape);
}

OperatorCost transpose_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return cost(inputs, outputs, inputs.values[0]->shape);
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
          .infer = infer_conv,
          .cost = conv_cost};
}

/// ConvTranspose: the transpose of Conv's linear map from X to Y, plus a bias: each X[n, c, y, x] adds its product with
/// W[c, m, i, j] to Y[n, m, y s + i d - p, x s + j d - p].
Operator conv_transpose() {
  Operator row = conv();
  row.type = "ConvTranspose";
  row.attributes.push_back({"output_padding", Operator::AttributeKind::integers});
  row.attributes.push_back({"output_shape", Operator::AttributeKind::integers});
  row.infer = infer_transpose;
  row.cost = transpose_cost;
  return row;
}

}  // namespace

std::vector<Operator> convolutions() {
  return {conv(), conv_transpose()};
}

}  // namespace mangrove::rows
