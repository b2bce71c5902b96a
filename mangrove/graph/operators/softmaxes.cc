#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  const Shape& shape = inputs.values[0]->shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (rank < 1 || (rank == 1 && shape.is_symbolic())) {
    return make_error(Code::invalid_argument, "input " + to_string(shape) + " has no dimension to normalise over");
  }
  if (const std::int64_t axis = node.int_or("axis", -1); axis != -1 && axis != rank - 1) {
    return make_error(Code::unimplemented, "attribute axis is " + std::to_string(axis) +
                                               ", only the last dimension of input " + to_string(shape) +
                                               " is supported");
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

// Maximum, subtraction, exponential, sum, division.
OperatorCost cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, kExponentialFlops + 4);
}

/// Softmax over the last dimension: y_i = exp(x_i - max x) / sum_j exp(x_j - max x).
Operator softmax() {
  return {.type = "Softmax",
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"axis", Operator::AttributeKind::integer}},
          .parameters = {},
          .infer = infer,
          .cost = cost};
}

}  // namespace

std::vector<Operator> softmaxes() {
  return {softmax()};
}

}  // namespace mangrove::rows
