#include <string>

#include "mangrove/graph/dropout_ratio.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer_identity(const Node&, const OperatorInputs& inputs) {
  return std::vector<ValueInfo>{*inputs.values[0]};
}

Result<std::vector<ValueInfo>> infer_dropout(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  MG_TRY([[maybe_unused]] const double ratio, dropout_ratio(node, inputs.constants));
  if (optional_input(inputs, 2) != nullptr) {
    const Tensor* training = inputs.constants[2];
    if (training == nullptr || training->dtype() != DType::boolean || training->elements() != 1) {
      return make_error(Code::unimplemented, "training_mode (input 2) must be a constant boolean");
    }
  }
  return std::vector<ValueInfo>{*inputs.values[0], {DType::boolean, inputs.values[0]->shape}};
}

Operator pass_through(std::string_view type, std::size_t min_inputs, std::size_t max_inputs) {
  Operator row = moving_operator(type, min_inputs, max_inputs);
  row.parameters = {0};
  row.infer = infer_identity;
  return row;
}

/// Identity: y = x.
Operator identity() {
  return pass_through("Identity", 1, 1);
}

/// Dropout: in training, each element is 0 with probability `ratio` (constant input 1, by default 0.5), else x / (1 -
/// ratio); output 1 says which ones are kept. In inference y = x. The mode is the program's, whatever training_mode
/// (input 2) says, and the random numbers are those of Execution::seed, whatever the attribute `seed` says.
/// source: Srivastava et al., Dropout: a simple way to prevent neural networks from overfitting, 2014.
Operator dropout() {
  Operator row = pass_through("Dropout", 1, 3);
  row.max_outputs = 2;
  row.attributes = {{"seed", Operator::AttributeKind::integer}};
  row.parameters = {};
  row.constants = {1, 2};
  row.infer = infer_dropout;
  return row;
}

}  // namespace

std::vector<Operator> regularization() {
  return {identity(), dropout()};
}

}  // namespace mangrove::rows
