#include <limits>

#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using enum DType;
using Types = std::initializer_list<DType>;

// A polynomial after range reduction, as for the exponential.
constexpr double kTrigonometricFlops = kExponentialFlops + 4;

constexpr Types kFloating{f32, f64};
constexpr Types kSigned{f32, f64, i32, i64, i8};
constexpr Types kNumeric{f32, f64, i32, i64, u8, i8};

// Any number of inputs of one of these types, broadcast together as numpy does; the output has their type.
Operator elementwise(std::string_view type, std::size_t min_inputs, std::size_t max_inputs, Types types, double flops) {
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .infer = [types](const Node&, const OperatorInputs& inputs) -> Result<std::vector<ValueInfo>> {
            MG_RETURN_IF_ERROR(check_types(inputs, types));
            MG_TRY(Shape shape, broadcast_inputs(inputs));
            return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(shape)}};
          },
          .cost = [flops](const Node&, const OperatorInputs& inputs,
                          std::span<const ValueInfo> outputs) { return elementwise_cost(inputs, outputs, flops); }};
}

Operator unary(std::string_view type, Types types, double flops) {
  return elementwise(type, 1, 1, types, flops);
}

Operator binary(std::string_view type, Types types, double flops) {
  return elementwise(type, 2, 2, types, flops);
}

// A binary one whose initializers are learned: biases and scales.
Operator trained(std::string_view type) {
  Operator row = binary(type, kNumeric, 1);
  row.parameters = {0, 1};
  row.cost = [](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
    return elementwise_cost(inputs, outputs, 1, {0, 1});
  };
  return row;
}

Operator variadic(std::string_view type, Types types) {
  Operator row = elementwise(type, 1, std::numeric_limits<std::int32_t>::max(), types, 0);
  row.cost = [](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
    return elementwise_cost(inputs, outputs, static_cast<double>(inputs.values.size()));
  };
  return row;
}

// No gradient: constant between its steps.
Operator step_function(std::string_view type, Types types = kFloating) {
  Operator row = unary(type, types, 1);
  row.differentiable = false;
  return row;
}

Result<std::vector<ValueInfo>> infer_pow(const Node&, const OperatorInputs& inputs) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const DType type = inputs.values[i]->dtype; type == u8 || type == i8 || type == boolean) {
      return make_error(Code::unimplemented, "input " + std::to_string(i) + " has type " + dtype_name(type) +
                                                 ", expected one of f32, f64, i32, i64");
    }
  }
  MG_TRY(Shape shape, broadcast_inputs(inputs));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(shape)}};
}

/// Pow: y = a^b, of a's type whatever b's is.
Operator pow() {
  Operator row = binary("Pow", kNumeric, 2 * kExponentialFlops);
  row.infer = infer_pow;
  return row;
}

Result<std::vector<ValueInfo>> infer_mod(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_types(inputs, kNumeric));
  const DType type = inputs.values[0]->dtype;
  if ((type == f32 || type == f64) && node.int_or("fmod", 0) == 0) {
    return make_error(Code::invalid_argument,
                      std::string("attribute fmod is 0, expected 1 for inputs of type ") + dtype_name(type));
  }
  MG_TRY(Shape shape, broadcast_inputs(inputs));
  return std::vector<ValueInfo>{{type, std::move(shape)}};
}

/// Mod: what is left of a / b, with the sign of b, or with `fmod` that of a.
Operator mod() {
  Operator row = binary("Mod", kNumeric, 3);
  row.attributes = {{"fmod", Operator::AttributeKind::integer}};
  row.infer = infer_mod;
  return row;
}

}  // namespace

std::vector<Operator> arithmetic() {
  return {
      // of one value
      unary("Abs", kNumeric, 1),
      unary("Acos", kFloating, kTrigonometricFlops),
      unary("Acosh", kFloating, kTrigonometricFlops),
      unary("Asin", kFloating, kTrigonometricFlops),
      unary("Asinh", kFloating, kTrigonometricFlops),
      unary("Atan", kFloating, kTrigonometricFlops),
      unary("Atanh", kFloating, kTrigonometricFlops),
      step_function("Ceil"),
      unary("Cos", kFloating, kTrigonometricFlops),
      unary("Cosh", kFloating, kTrigonometricFlops),
      unary("Exp", kFloating, kExponentialFlops),
      step_function("Floor"),
      unary("Log", kFloating, kExponentialFlops),
      unary("Neg", kSigned, 1),
      unary("Reciprocal", kFloating, 1),
      step_function("Round"),
      step_function("Sign", kNumeric),
      unary("Sin", kFloating, kTrigonometricFlops),
      unary("Sinh", kFloating, kTrigonometricFlops),
      unary("Sqrt", kFloating, 1),
      unary("Tan", kFloating, kTrigonometricFlops),
      // of two
      trained("Add"),
      binary("Div", kNumeric, 1),
      mod(),
      trained("Mul"),
      pow(),
      binary("Sub", kNumeric, 1),
      // of any number
      variadic("Max", kNumeric),
      variadic("Mean", kFloating),
      variadic("Min", kNumeric),
      variadic("Sum", kFloating),
  };
}

}  // namespace mangrove::rows
