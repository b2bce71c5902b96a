#include <vector>

#include "mangrove/graph/constant_values.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using Infos = std::vector<ValueInfo>;
using Kind = Operator::AttributeKind;

// The inputs are not read when a program runs: their shapes or values are known before.
OperatorCost cost(const Node&, const OperatorInputs&, std::span<const ValueInfo> outputs) {
  return traffic({}, outputs);
}

Operator constant_operator(std::string_view type, std::size_t inputs, std::vector<Operator::AttributeRule> attributes) {
  return {.type = type,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = std::move(attributes),
          .parameters = {},
          .differentiable = false,
          .mixes_samples = true,
          .infer = {},
          .cost = cost};
}

Result<Infos> infer_constant(const Node& node, const OperatorInputs&) {
  MG_TRY(const Tensor value, constant_value(node));
  return Infos{{value.dtype(), value.shape()}};
}

/// Constant: the value of its only attribute.
Operator constant() {
  Operator row = constant_operator("Constant", 0,
                                   {{"value", Kind::tensor},
                                    {"value_float", Kind::real},
                                    {"value_floats", Kind::reals},
                                    {"value_int", Kind::integer},
                                    {"value_ints", Kind::integers},
                                    {"value_string", Kind::string},
                                    {"value_strings", Kind::strings}});
  row.infer = infer_constant;
  return row;
}

Result<Infos> infer_constant_of_shape(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(const Tensor value, fill_value(node));
  MG_TRY(Shape shape, constant_shape(inputs.constants[0], "the shape (input 0)"));
  return Infos{{value.dtype(), std::move(shape)}};
}

/// ConstantOfShape: the constant shape of input 0 (-k is k times the batch) filled with the one element of attribute
/// `value`, by default 0 of type f32.
Operator constant_of_shape() {
  Operator row = constant_operator("ConstantOfShape", 1, {{"value", Kind::tensor}});
  row.constants = {0};
  row.infer = infer_constant_of_shape;
  return row;
}

Result<Infos> infer_shape(const Node& node, const OperatorInputs& inputs) {
  const auto [first, last] = shape_range(node, inputs.values[0]->shape);
  return Infos{{DType::i64, Shape{static_cast<std::int64_t>(last - first)}}};
}

/// Shape: the sizes of dimensions [start, end) of the input.
Operator shape() {
  Operator row = constant_operator("Shape", 1, {{"start", Kind::integer}, {"end", Kind::integer}});
  row.infer = infer_shape;
  return row;
}

/// Size: the number of elements of the input.
Operator size() {
  Operator row = constant_operator("Size", 1, {});
  row.infer = [](const Node&, const OperatorInputs&) -> Result<Infos> { return Infos{{DType::i64, Shape{}}}; };
  return row;
}

Result<Infos> infer_range(const Node&, const OperatorInputs& inputs) {
  MG_TRY(const Tensor values, range_values(inputs.constants));
  return Infos{{values.dtype(), values.shape()}};
}

/// Range: start, start + delta, ... up to limit, which is not reached; all three constants.
Operator range() {
  Operator row = constant_operator("Range", 3, {});
  row.constants = {0, 1, 2};
  row.infer = infer_range;
  return row;
}

Result<Infos> infer_eye_like(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo& input = *inputs.values[0];
  if (input.shape.rank() != 2) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(input.shape) + ", expected a matrix");
  }
  if (input.shape.is_symbolic()) {
    return make_error(Code::unimplemented, "input has shape " + to_string(input.shape) +
                                               ": what a sample gets would depend on its place in the batch");
  }
  MG_TRY(const DType dtype, eye_dtype(node, input.dtype));
  return Infos{{dtype, input.shape}};
}

/// EyeLike: a matrix of the input's shape with ones on diagonal k (0 is the main one, 1 the one above it).
Operator eye_like() {
  Operator row = constant_operator("EyeLike", 1, {{"dtype", Kind::integer}, {"k", Kind::integer}});
  row.infer = infer_eye_like;
  return row;
}

Result<Infos> infer_non_zero(const Node&, const OperatorInputs& inputs) {
  MG_TRY(const Tensor positions, non_zero_positions(inputs.constants[0]));
  return Infos{{positions.dtype(), positions.shape()}};
}

/// NonZero: where the input, a constant, is not zero: [dimensions of the input, elements that are not zero].
Operator non_zero() {
  Operator row = constant_operator("NonZero", 1, {});
  row.constants = {0};
  row.infer = infer_non_zero;
  return row;
}

}  // namespace

std::vector<Operator> constants() {
  return {constant(), constant_of_shape(), eye_like(), non_zero(), shape(), size(), range()};
}

}  // namespace mangrove::rows
