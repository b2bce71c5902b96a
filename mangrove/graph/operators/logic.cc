#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using enum DType;
using Types = std::initializer_list<DType>;

constexpr Types kBoolean{boolean};
constexpr Types kFloating{f32, f64};
constexpr Types kNumeric{f32, f64, i32, i64, u8, i8};
constexpr Types kAny{f32, f64, i32, i64, u8, i8, boolean};

OperatorCost one_flop(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 1);
}

// Inputs of one of these types, broadcast as numpy does; true or false for each element.
Operator predicate(std::string_view type, std::size_t inputs, Types types) {
  return {.type = type,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .differentiable = false,
          .infer = [types](const Node&, const OperatorInputs& in) -> Result<std::vector<ValueInfo>> {
            MG_RETURN_IF_ERROR(check_types(in, types));
            MG_TRY(Shape shape, broadcast_inputs(in));
            return std::vector<ValueInfo>{{boolean, std::move(shape)}};
          },
          .cost = one_flop};
}

// Of one real each.
Operator predicate_of_real(std::string_view type, std::vector<Operator::AttributeRule> attributes = {}) {
  Operator row = predicate(type, 1, kFloating);
  row.attributes = std::move(attributes);
  return row;
}

Result<std::vector<ValueInfo>> infer_where(const Node&, const OperatorInputs& inputs) {
  const ValueInfo &condition = *inputs.values[0], &a = *inputs.values[1], &b = *inputs.values[2];
  if (condition.dtype != boolean || a.dtype != b.dtype) {
    return make_error(Code::invalid_argument, std::string("inputs have types ") + dtype_name(condition.dtype) + ", " +
                                                  dtype_name(a.dtype) + " and " + dtype_name(b.dtype) +
                                                  ", expected a boolean and two of one type");
  }
  MG_TRY(Shape shape, broadcast_inputs(inputs));
  return std::vector<ValueInfo>{{a.dtype, std::move(shape)}};
}

/// Where: y = condition ? a : b, all three broadcast.
Operator where() {
  Operator row = predicate("Where", 3, kAny);
  row.differentiable = true;
  row.infer = infer_where;
  return row;
}

Result<std::vector<ValueInfo>> infer_cast(const Node& node, const OperatorInputs& inputs) {
  if (!node.attributes.contains("to")) return make_error(Code::invalid_argument, "attribute to is missing");
  const std::int64_t to = node.int_or("to", 0);
  if (to < 0 || to > 100) return make_error(Code::invalid_argument, "attribute to is " + std::to_string(to));
  MG_TRY(const DType type, decode_dtype(static_cast<std::int32_t>(to)).context("attribute to"));
  return std::vector<ValueInfo>{{type, inputs.values[0]->shape}};
}

/// Cast: the same numbers in another type. To floats of 16 bits they are rounded, and stay f32. To integers reals are
/// cut towards zero and to the type's range; NaN is 0. Differentiable where both types are reals.
Operator cast() {
  Operator row = predicate("Cast", 1, kAny);
  row.attributes = {{"to", Operator::AttributeKind::integer}};
  row.differentiable = true;
  row.infer = infer_cast;
  return row;
}

}  // namespace

std::vector<Operator> logic() {
  using enum Operator::AttributeKind;
  return {predicate("And", 2, kBoolean),
          cast(),
          predicate("Equal", 2, kAny),
          predicate("Greater", 2, kNumeric),
          predicate("GreaterOrEqual", 2, kNumeric),
          predicate_of_real("IsInf", {{"detect_negative", integer}, {"detect_positive", integer}}),
          predicate_of_real("IsNaN"),
          predicate("Less", 2, kNumeric),
          predicate("LessOrEqual", 2, kNumeric),
          predicate("Not", 1, kBoolean),
          predicate("Or", 2, kBoolean),
          where(),
          predicate("Xor", 2, kBoolean)};
}

}  // namespace mangrove::rows
