#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using Attributes = std::vector<Operator::AttributeRule>;

Result<std::vector<ValueInfo>> same_as_input(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  return std::vector<ValueInfo>{*inputs.values[0]};
}

// f32 or f64 in, the same out, elementwise.
Operator elementwise(std::string_view type, double flops_per_element, Attributes attributes = {}) {
  return {.type = type,
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = std::move(attributes),
          .parameters = {},
          .infer = same_as_input,
          .cost = [flops_per_element](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
            return elementwise_cost(inputs, outputs, flops_per_element);
          }};
}

// One whose derivative can be computed from its output.
Operator activation(std::string_view type, double flops_per_element, Attributes attributes = {}) {
  Operator row = elementwise(type, flops_per_element, std::move(attributes));
  row.activation = true;
  return row;
}

Result<std::vector<ValueInfo>> infer_gelu(const Node& node, const OperatorInputs& inputs) {
  const std::string approximate = node.string_or("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return make_error(Code::invalid_argument, "attribute approximate is '" + approximate + "', expected none or tanh");
  }
  return same_as_input(node, inputs);
}

/// Gelu: y = x P(x), where P is the normal distribution's, or near it with `approximate` tanh. Hendrycks and Gimpel,
/// Gaussian error linear units, 2016.
Operator gelu() {
  Operator row = elementwise("Gelu", kExponentialFlops + 14, {{"approximate", Operator::AttributeKind::string}});
  row.infer = infer_gelu;
  return row;
}

Result<std::vector<ValueInfo>> infer_celu(const Node& node, const OperatorInputs& inputs) {
  if (node.float_or("alpha", 1) == 0) return make_error(Code::invalid_argument, "attribute alpha is 0");
  return same_as_input(node, inputs);
}

/// Celu: y = alpha (exp(x / alpha) - 1) for x < 0, else x. Barron, Continuously differentiable exponential linear
/// units, 2017.
Operator celu() {
  Operator row = elementwise("Celu", kExponentialFlops + 3, {{"alpha", Operator::AttributeKind::real}});
  row.infer = infer_celu;
  return row;
}

Result<std::vector<ValueInfo>> infer_clip(const Node&, const OperatorInputs& inputs) {
  using enum DType;
  MG_RETURN_IF_ERROR(check_types(inputs, {f32, f64, i32, i64, u8, i8}));
  if (optional_input(inputs, 1) != nullptr) MG_RETURN_IF_ERROR(check_constant_scalar(inputs, 1, "min (input 1)"));
  if (optional_input(inputs, 2) != nullptr) MG_RETURN_IF_ERROR(check_constant_scalar(inputs, 2, "max (input 2)"));
  return std::vector<ValueInfo>{*inputs.values[0]};
}

Result<std::vector<ValueInfo>> infer_prelu(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1}));
  const Shape &x = inputs.values[0]->shape, &slope = inputs.values[1]->shape;
  MG_TRY(const Shape shape, broadcast(x, slope));
  if (shape != x) {
    return make_error(Code::invalid_argument,
                      "slope " + to_string(slope) + " does not broadcast to input " + to_string(x));
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

/// Clip: y = min(max(x, lowest), highest); inputs 1 and 2 are the constants lowest and highest, each may be left out.
Operator clip() {
  Operator row = elementwise("Clip", 2);
  row.max_inputs = 3;
  row.constants = {1, 2};
  row.infer = infer_clip;
  return row;
}

/// PRelu: y = x for x > 0, else slope x, where the slope broadcasts to x. He et al., Delving deep into rectifiers,
/// ICCV 2015.
Operator prelu() {
  Operator row = elementwise("PRelu", 2);
  row.min_inputs = row.max_inputs = 2;
  row.parameters = {1};
  row.infer = infer_prelu;
  row.cost = [](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
    return elementwise_cost(inputs, outputs, 2, {1});
  };
  return row;
}

}  // namespace

std::vector<Operator> activations() {
  using enum Operator::AttributeKind;
  return {
      celu(), clip(),
      activation("Elu", kExponentialFlops + 2, {{"alpha", real}}),              // alpha (exp(x) - 1) for x < 0, else x
      elementwise("Erf", kExponentialFlops + 10),                               // 2 / sqrt(pi) integral of exp(-t^2)
      gelu(), activation("HardSigmoid", 4, {{"alpha", real}, {"beta", real}}),  // min(max(alpha x + beta, 0), 1)
      elementwise("HardSwish", 5),                                              // x min(max(x / 6 + 1 / 2, 0), 1)
      activation("LeakyRelu", 2, {{"alpha", real}}),                            // alpha x for x < 0, else x
      // x tanh(log(1 + exp(x))): Misra, Mish, a self regularized non-monotonic activation function, BMVC 2020
      elementwise("Mish", 3 * kExponentialFlops + 4), prelu(), activation("Relu", 1),  // max(x, 0)
      activation("Selu", kExponentialFlops + 3, {{"alpha", real}, {"gamma", real}}),   // gamma Elu(x)
      elementwise("Shrink", 3, {{"bias", real}, {"lambd", real}}),  // x moved by bias to 0; 0 within lambd of 0
      activation("Sigmoid", kExponentialFlops + 2),                 // 1 / (1 + exp(-x))
      activation("Softplus", 2 * kExponentialFlops + 1),            // log(1 + exp(x))
      activation("Softsign", 3),                                    // x / (1 + |x|)
      activation("Tanh", kExponentialFlops + 3),                    // (exp(2x) - 1) / (exp(2x) + 1)
      elementwise("ThresholdedRelu", 1, {{"alpha", real}}),         // x for x > alpha, else 0
  };
}

}  // namespace mangrove::rows
