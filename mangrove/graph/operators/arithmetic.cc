#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer_add(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1}));
  MG_TRY(Shape shape, broadcast(inputs.values[0]->shape, inputs.values[1]->shape));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(shape)}};
}

OperatorCost add_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 1, {0, 1});
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

}  // namespace

std::vector<Operator> arithmetic() {
  return {add()};
}

}  // namespace mangrove::rows
