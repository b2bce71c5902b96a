#include "mangrove/graph/batch_norm_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

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

}  // namespace

std::vector<Operator> normalizations() {
  return {batch_norm()};
}

}  // namespace mangrove::rows
