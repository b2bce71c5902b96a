#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> same_as_input(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  return std::vector<ValueInfo>{*inputs.values[0]};
}

Operator activation(std::string_view type, double flops_per_element) {
  return {.type = type,
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .activation = true,
          .infer = same_as_input,
          .cost = [flops_per_element](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
            return elementwise_cost(inputs, outputs, flops_per_element);
          }};
}

/// Relu: y = max(x, 0).
Operator relu() {
  return activation("Relu", 1);
}

/// Sigmoid: y = 1 / (1 + exp(-x)).
Operator sigmoid() {
  return activation("Sigmoid", kExponentialFlops + 2);
}

/// Tanh: y = (exp(2x) - 1) / (exp(2x) + 1).
Operator tanh() {
  return activation("Tanh", kExponentialFlops + 3);
}

}  // namespace

std::vector<Operator> activations() {
  return {relu(), sigmoid(), tanh()};
}

}  // namespace mangrove::rows
