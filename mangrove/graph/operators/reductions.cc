#include "mangrove/graph/axis.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/reduction_geometry.h"

namespace mangrove::rows {
namespace {

using enum DType;
using Types = std::initializer_list<DType>;

constexpr Types kFloating{f32, f64};
constexpr Types kNumeric{f32, f64, i32, i64, u8, i8};
constexpr Types kWide{f32, f64, i32, i64};

OperatorCost one_flop_per_input(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  OperatorCost cost = traffic(inputs, outputs);
  cost.flops = static_cast<double>(inputs.values[0]->shape.elements());
  return cost;
}

Status check_type(const OperatorInputs& inputs, Types types) {
  return check_types({.values = {inputs.values[0]}, .constants = {}}, types);
}

Status check_axes(const OperatorInputs& inputs) {
  if (optional_input(inputs, 1) == nullptr) return {};
  const Tensor* axes = inputs.constants[1];
  if (axes == nullptr || axes->dtype() != i64 || axes->shape().rank() > 1) {
    return make_error(Code::unimplemented, "axes (input 1) must be a constant i64 vector");
  }
  return {};
}

Operator reduction(std::string_view type, Types types) {
  return {.type = type,
          .min_inputs = 1,
          .max_inputs = 1,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"axes", Operator::AttributeKind::integers}, {"keepdims", Operator::AttributeKind::integer}},
          .parameters = {},
          .infer = [types](const Node& node, const OperatorInputs& inputs) -> Result<std::vector<ValueInfo>> {
            MG_RETURN_IF_ERROR(check_type(inputs, types));
            MG_RETURN_IF_ERROR(check_axes(inputs));
            const Tensor* axes = optional_input(inputs, 1) == nullptr ? nullptr : inputs.constants[1];
            MG_TRY(ReductionGeometry geometry, reduction_geometry(node, inputs.values[0]->shape, axes));
            return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(geometry.output)}};
          },
          .cost = one_flop_per_input};
}

/// ReduceSum: its axes are input 1 (constant) since opset 13.
Operator reduce_sum() {
  Operator row = reduction("ReduceSum", kWide);
  row.max_inputs = 2;
  row.constants = {1};
  row.attributes = {{"keepdims", Operator::AttributeKind::integer},
                    {"noop_with_empty_axes", Operator::AttributeKind::integer}};
  return row;
}

// Several operations per element.
Operator reduction_of_function(std::string_view type, Types types, double flops) {
  Operator row = reduction(type, types);
  row.cost = [flops](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
    OperatorCost cost = traffic(inputs, outputs);
    cost.flops = flops * static_cast<double>(inputs.values[0]->shape.elements());
    return cost;
  };
  return row;
}

Result<std::vector<ValueInfo>> infer_arg_max(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_type(inputs, kNumeric));
  Shape shape = inputs.values[0]->shape;
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", 0), shape));
  if (shape[axis] == 0) {
    return make_error(Code::invalid_argument,
                      "input " + to_string(shape) + " has no element along axis " + std::to_string(axis));
  }
  std::vector<std::int64_t> dims = shape.dims();
  dims[axis] = 1;
  if (node.int_or("keepdims", 1) == 0) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return std::vector<ValueInfo>{{i64, Shape(std::move(dims))}};
}

/// ArgMax, ArgMin: where along an axis the largest (least) element is; of several the first, or with select_last_index
/// the last.
Operator arg_extreme(std::string_view type) {
  using enum Operator::AttributeKind;
  Operator row = reduction(type, kNumeric);
  row.attributes = {{"axis", integer}, {"keepdims", integer}, {"select_last_index", integer}};
  row.differentiable = false;
  row.infer = infer_arg_max;
  return row;
}

Result<std::vector<ValueInfo>> infer_top_k(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_type(inputs, kNumeric));
  MG_RETURN_IF_ERROR(check_constant_scalar(inputs, 1, "k (input 1)"));
  if (inputs.values[1]->dtype != i64) {
    return make_error(Code::invalid_argument,
                      std::string("k (input 1) has type ") + dtype_name(inputs.values[1]->dtype) + ", expected i64");
  }
  Shape shape = inputs.values[0]->shape;
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", -1), shape));
  const std::int64_t k = inputs.constants[1]->as<std::int64_t>()[0];
  if (shape[axis] < 0) {
    return make_error(Code::unimplemented,
                      "axis " + std::to_string(axis) + " of input " + to_string(shape) + " is the symbolic batch");
  }
  if (k < 0 || k > shape[axis]) {
    return make_error(Code::invalid_argument, "k (input 1) is " + std::to_string(k) + ", expected at most the " +
                                                  std::to_string(shape[axis]) + " elements of input " +
                                                  to_string(shape) + " along axis " + std::to_string(axis));
  }
  shape[axis] = k;
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, shape}, {i64, shape}};
}

/// TopK: the k (input 1, constant) largest or smallest elements along an axis, in order, and where they are; of equal
/// ones those that come first.
Operator top_k() {
  using enum Operator::AttributeKind;
  Operator row = reduction("TopK", kNumeric);
  row.min_inputs = row.max_inputs = 2;
  row.constants = {1};
  row.max_outputs = 2;
  row.attributes = {{"axis", integer}, {"largest", integer}, {"sorted", integer}};
  row.infer = infer_top_k;
  return row;
}

Result<std::vector<ValueInfo>> infer_cumulative_sum(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_type(inputs, kWide));
  const Shape& shape = inputs.values[0]->shape;
  MG_RETURN_IF_ERROR(check_constant_scalar(inputs, 1, "axis (input 1)"));
  MG_TRY(const std::size_t axis, cumulative_axis(inputs.constants[1], shape));
  if (shape[axis] < 0) {
    return make_error(Code::unimplemented,
                      "axis " + std::to_string(axis) + " of input " + to_string(shape) + " is the symbolic batch");
  }
  return std::vector<ValueInfo>{*inputs.values[0]};
}

/// CumSum: the sums of the elements up to each along an axis (input 1, constant), or from it on with `reverse`; with
/// `exclusive` without the element itself.
Operator cumulative_sum() {
  using enum Operator::AttributeKind;
  Operator row = reduction("CumSum", kWide);
  row.min_inputs = row.max_inputs = 2;
  row.constants = {1};
  row.attributes = {{"exclusive", integer}, {"reverse", integer}};
  row.infer = infer_cumulative_sum;
  return row;
}

}  // namespace

std::vector<Operator> reductions() {
  return {arg_extreme("ArgMax"),
          arg_extreme("ArgMin"),
          cumulative_sum(),
          reduction_of_function("ReduceL1", kWide, 2),                                 // sum of |x|
          reduction_of_function("ReduceL2", kFloating, 2),                             // square root of the sum of x^2
          reduction_of_function("ReduceLogSum", kFloating, 1),                         // log of the sum of x
          reduction_of_function("ReduceLogSumExp", kFloating, kExponentialFlops + 2),  // log of the sum of exp(x)
          reduction("ReduceMax", kNumeric),
          reduction("ReduceMean", kFloating),
          reduction("ReduceMin", kNumeric),
          reduction("ReduceProd", kWide),
          reduce_sum(),
          reduction_of_function("ReduceSumSquare", kWide, 2),  // sum of x^2
          top_k()};
}

}  // namespace mangrove::rows
