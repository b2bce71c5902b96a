#include "mangrove/graph/broadcast.h"
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

Result<std::vector<ValueInfo>> infer_add(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1}));
  MG_TRY(Shape shape, broadcast(inputs.values[0]->shape, inputs.values[1]->shape));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(shape)}};
}

OperatorCost add_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 1, {0, 1});
}

}  // namespace

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

/// Add: y = a + b, broadcast as numpy does.
Operator add() {
  return {.type = "Add",
          .min_inputs = 2,
          .max_inputs = 2,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {0, 1},
          .infer = infer_add,
          .cost = add_cost};
}

}  // namespace mangrove::rows
