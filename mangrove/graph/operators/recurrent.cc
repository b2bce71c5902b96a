#include <algorithm>

#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/recurrent_geometry.h"

namespace mangrove::rows {
namespace {

constexpr std::size_t kLengths = 4;  // sequence_lens among the inputs

// Sequences of one length only: a constant that says so, or none.
Status check_lengths(const OperatorInputs& inputs, std::int64_t steps) {
  if (optional_input(inputs, kLengths) == nullptr) return {};
  const Tensor* lengths = inputs.constants[kLengths];
  if (lengths == nullptr || lengths->dtype() != DType::i32) {
    return make_error(Code::unimplemented, "sequence_lens (input 4) must be a constant i32 vector");
  }
  const auto values = lengths->as<std::int32_t>();
  if (!std::all_of(values.begin(), values.end(), [steps](std::int32_t length) { return length == steps; })) {
    return make_error(Code::unimplemented,
                      "sequence_lens (input 4) differ from the " + std::to_string(steps) + " steps of the input");
  }
  return {};
}

Status check_input(const OperatorInputs& inputs, std::size_t position, const char* name, const Shape& expected) {
  const ValueInfo* info = optional_input(inputs, position);
  if (info == nullptr || info->shape == expected) return {};
  return make_error(Code::invalid_argument, std::string(name) + " (input " + std::to_string(position) + ") has shape " +
                                                to_string(info->shape) + ", expected " + to_string(expected));
}

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2, 3, 5, 6, 7}));
  MG_TRY(const RecurrentGeometry g, recurrent_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  MG_RETURN_IF_ERROR(check_input(inputs, 2, "recurrence", {g.directions, g.gates * g.hidden, g.hidden}));
  MG_RETURN_IF_ERROR(check_input(inputs, 3, "bias", {g.directions, 2 * g.gates * g.hidden}));
  MG_RETURN_IF_ERROR(check_lengths(inputs, g.steps));
  MG_RETURN_IF_ERROR(check_input(inputs, 5, "initial_h", g.state_shape()));
  MG_RETURN_IF_ERROR(check_input(inputs, 6, "initial_c", g.state_shape()));
  MG_RETURN_IF_ERROR(check_input(inputs, 7, "peepholes", {g.directions, 3 * g.hidden}));
  const DType dtype = inputs.values[0]->dtype;
  return std::vector<ValueInfo>{{dtype, g.y_shape()}, {dtype, g.state_shape()}, {dtype, g.state_shape()}};
}

// Two products per step, and per gate an activation.
OperatorCost cost(const Node& node, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const RecurrentGeometry g = recurrent_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape).value();
  OperatorCost cost = traffic(inputs, outputs, {1, 2, 3, 7});
  const double per_gate = 2 * static_cast<double>(g.inputs + g.hidden) + kExponentialFlops + 4;
  cost.flops =
      per_gate * static_cast<double>(g.directions * g.gates * g.hidden) * static_cast<double>(g.steps * g.batch);
  return cost;
}

Operator recurrent_operator(std::string_view type, std::size_t max_inputs, std::size_t max_outputs) {
  using enum Operator::AttributeKind;
  return {.type = type,
          .min_inputs = 3,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = max_outputs,
          .attributes = {{"activation_alpha", reals},
                         {"activation_beta", reals},
                         {"activations", strings},
                         {"clip", real},
                         {"direction", string},
                         {"hidden_size", integer},
                         {"layout", integer}},
          .parameters = {1, 2, 3},
          .constants = {kLengths},
          .infer = infer,
          .cost = cost};
}

/// RNN: h_t = f(W x_t + R h_(t-1) + b), f tanh or relu; inputs X, W, R, B, sequence_lens, initial_h; outputs all h_t
/// and the last.
Operator rnn() {
  return recurrent_operator("RNN", 6, 2);
}

/// GRU: z, r = sigmoid(W x_t + R h_(t-1) + b), c = tanh(W x_t + R (r h_(t-1)) + b) or, linear_before_reset,
/// tanh(W x_t + r (R h_(t-1) + b) + b), h_t = (1 - z) c + z h_(t-1); inputs and outputs of RNN. (Cho et al., 2014)
Operator gru() {
  Operator row = recurrent_operator("GRU", 6, 2);
  row.attributes.push_back({"linear_before_reset", Operator::AttributeKind::integer});
  return row;
}

/// LSTM: i, f = sigmoid(W x_t + R h_(t-1) + P c_(t-1) + b), c_t = f c_(t-1) + i tanh(W x_t + R h_(t-1) + b),
/// o = sigmoid(W x_t + R h_(t-1) + P c_t + b), h_t = o tanh(c_t); inputs of RNN, then initial_c and the peepholes P;
/// outputs of RNN and the last c_t. (Hochreiter and Schmidhuber, 1997; Gers and Schmidhuber, 2000)
Operator lstm() {
  Operator row = recurrent_operator("LSTM", 8, 3);
  row.attributes.push_back({"input_forget", Operator::AttributeKind::integer});
  row.parameters.push_back(7);
  return row;
}

}  // namespace

std::vector<Operator> recurrent() {
  return {gru(), lstm(), rnn()};
}

}  // namespace mangrove::rows
