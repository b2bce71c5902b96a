#include "mangrove/graph/batch_norm_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/row_norm_geometry.h"

namespace mangrove::rows {
namespace {

// Inputs [first, last) must be vectors of one value per channel.
Status check_per_channel(const OperatorInputs& inputs, std::size_t first, std::size_t last, std::int64_t channels) {
  for (std::size_t i = first; i < last; ++i) {
    const Shape& shape = inputs.values[i]->shape;
    if (shape == Shape{channels}) continue;
    return make_error(Code::invalid_argument, "input " + std::to_string(i) + " has shape " + to_string(shape) +
                                                  ", expected [" + std::to_string(channels) + "] for input " +
                                                  to_string(inputs.values[0]->shape));
  }
  return {};
}

Result<std::vector<ValueInfo>> infer_batch_norm(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2, 3, 4}));
  MG_TRY(const BatchNormGeometry geometry, batch_norm_geometry(node, inputs.values[0]->shape));
  MG_RETURN_IF_ERROR(check_per_channel(inputs, 1, 5, geometry.channels));
  const ValueInfo statistic{inputs.values[0]->dtype, Shape{geometry.channels}};
  return std::vector<ValueInfo>{*inputs.values[0], statistic, statistic};
}

// Once scale and shift of a channel are known, one multiply-add per element.
OperatorCost batch_norm_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 2, {1, 2});
}

/// BatchNormalization: Y = scale (X - mean) / sqrt(variance + epsilon) + B per channel; inputs X, scale, B, running
/// mean and variance. In training (whatever training_mode says) mean and variance are the batch's, and the running ones
/// become momentum running + (1 - momentum) batch's, with the biased variance as ONNX has it; outputs 1 and 2 are the
/// running ones after that. (Ioffe and Szegedy, Batch Normalization, 2015)
Operator batch_norm() {
  using enum Operator::AttributeKind;
  return {.type = "BatchNormalization",
          .min_inputs = 5,
          .max_inputs = 5,
          .min_outputs = 1,
          .max_outputs = 3,
          .attributes = {{"epsilon", real}, {"momentum", real}, {"training_mode", integer}},
          .parameters = {1, 2},
          .states = {3, 4},
          .infer = infer_batch_norm,
          .cost = batch_norm_cost};
}

Result<std::vector<ValueInfo>> infer_row_norm(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2}));
  MG_TRY(const RowNormGeometry geometry, row_norm_geometry(node, inputs.values[0]->shape));
  for (std::size_t i = 1; i < inputs.values.size(); ++i) {
    const ValueInfo* info = optional_input(inputs, i);
    if (info == nullptr || info->shape == geometry.scale) continue;
    return make_error(Code::unimplemented, "input " + std::to_string(i) + " has shape " + to_string(info->shape) +
                                               ", expected " + to_string(geometry.scale) + " for input " +
                                               to_string(inputs.values[0]->shape));
  }
  const DType dtype = inputs.values[0]->dtype;
  return std::vector<ValueInfo>{*inputs.values[0], {dtype, geometry.statistics}, {dtype, geometry.statistics}};
}

Result<std::vector<ValueInfo>> infer_layer_norm(const Node& node, const OperatorInputs& inputs) {
  if (const std::int64_t type = node.int_or("stash_type", 1); type != 1) {
    return make_error(Code::unimplemented, "attribute stash_type is " + std::to_string(type) + ", expected 1 (float)");
  }
  return infer_row_norm(node, inputs);
}

// Mean, variance, and a multiply-add each for centring and for scale and bias.
OperatorCost row_norm_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 7, {1, 2});
}

/// y = scale (x - mean) / sqrt(variance + epsilon) + bias, with mean and variance of x's row, see RowNormGeometry.
Operator row_norm(std::string_view type, std::size_t min_inputs, std::vector<Operator::AttributeRule> attributes) {
  attributes.push_back({"epsilon", Operator::AttributeKind::real});
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = 3,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = std::move(attributes),
          .parameters = {1, 2},
          .infer = infer_row_norm,
          .cost = row_norm_cost};
}

/// LayerNormalization: each row is all dimensions from `axis` on; outputs 1 and 2 (through which no gradient flows) are
/// the rows' means and inverse deviations, in X's type. (Ba, Kiros and Hinton, Layer Normalization, 2016)
Operator layer_norm() {
  using enum Operator::AttributeKind;
  Operator row = row_norm("LayerNormalization", 2, {{"axis", integer}, {"stash_type", integer}});
  row.max_outputs = 3;
  row.infer = infer_layer_norm;
  return row;
}

/// InstanceNormalization: each row is one channel of one sample. (Ulyanov, Vedaldi and Lempitsky, 2016)
Operator instance_norm() {
  return row_norm("InstanceNormalization", 3, {});
}

/// GroupNormalization: each row is one of num_groups groups of channels of one sample; scale and bias have a value per
/// channel, as in opset 21 (18 had one per group). (Wu and He, Group Normalization, 2018)
Operator group_norm() {
  return row_norm("GroupNormalization", 3, {{"num_groups", Operator::AttributeKind::integer}});
}

Result<std::vector<ValueInfo>> infer_lrn(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  const Shape& shape = inputs.values[0]->shape;
  if (shape.rank() < 2 || !shape.allows_batch_first()) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(shape) + ", expected [N, C, ...]");
  }
  if (const std::int64_t size = node.int_or("size", 0); size < 1) {
    return make_error(Code::invalid_argument, "attribute size is " + std::to_string(size) + ", expected at least 1");
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

// The sum of squares can slide; the power is a logarithm and an exponential.
OperatorCost lrn_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 2 * kExponentialFlops + 6);
}

/// LRN: y_c = x_c / (bias + alpha / size times the sum of x_k^2 over channels k of [c - floor((size - 1) / 2),
/// c + ceil((size - 1) / 2)])^beta. (Krizhevsky, Sutskever and Hinton, 2012)
Operator lrn() {
  using enum Operator::AttributeKind;
  return {.type = "LRN",
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"alpha", real}, {"beta", real}, {"bias", real}, {"size", integer}},
          .parameters = {},
          .infer = infer_lrn,
          .cost = lrn_cost};
}

}  // namespace

std::vector<Operator> normalizations() {
  return {batch_norm(), group_norm(), instance_norm(), layer_norm(), lrn()};
}

}  // namespace mangrove::rows
