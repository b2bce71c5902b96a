#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

OperatorCost copy_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return traffic(inputs, outputs);
}

Result<std::vector<ValueInfo>> infer_identity(const Node&, const OperatorInputs& inputs) {
  return std::vector<ValueInfo>{*inputs.values[0]};
}

Result<std::vector<ValueInfo>> infer_dropout(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  if (optional_input(inputs, 2) != nullptr) {
    const Tensor* training = inputs.constants[2];
    if (training == nullptr || training->dtype() != DType::boolean || training->elements() != 1 ||
        training->as<bool>()[0]) {
      return make_error(Code::unimplemented, "training_mode (input 2) must be a constant false");
    }
  }
  if (optional_input(inputs, 1) != nullptr && inputs.constants[1] == nullptr) {
    return make_error(Code::unimplemented, "ratio (input 1) must be a constant");
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

Operator pass_through(std::string_view type, std::size_t min_inputs, std::size_t max_inputs) {
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .infer = infer_identity,
          .cost = copy_cost};
}

/// Identity: y = x.
Operator identity() {
  return pass_through("Identity", 1, 1);
}

/// Dropout as in inference: y = x.
Operator dropout() {
  Operator row = pass_through("Dropout", 1, 3);
  row.attributes = {{"seed", Operator::AttributeKind::integer}};
  row.infer = infer_dropout;
  return row;
}

}  // namespace

std::vector<Operator> regularization() {
  return {identity(), dropout()};
}

}  // namespace mangrove::rows
