#include "mangrove/graph/axis.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  const Shape& shape = inputs.values[0]->shape;
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", -1), shape));
  if (shape[axis] < 0) {
    return make_error(Code::invalid_argument, "axis " + std::to_string(axis) + " of input " + to_string(shape) +
                                                  " is the batch: there is no dimension to normalise over");
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

// Maximum, subtraction, exponential, sum, division.
OperatorCost cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, kExponentialFlops + 4);
}

Operator along_axis(std::string_view type) {
  return {.type = type,
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"axis", Operator::AttributeKind::integer}},
          .parameters = {},
          .infer = infer,
          .cost = cost};
}

/// Hardmax: 1 where along the axis the first of the largest elements is, else 0.
Operator hardmax() {
  Operator row = along_axis("Hardmax");
  row.differentiable = false;
  return row;
}

}  // namespace

std::vector<Operator> softmaxes() {
  return {
      hardmax(),
      along_axis("LogSoftmax"),  // y_i = x_i - max x - log sum_j exp(x_j - max x), i and j along the axis
      along_axis("Softmax"),     // y_i = exp(x_i - max x) / sum_j exp(x_j - max x)
  };
}

}  // namespace mangrove::rows
