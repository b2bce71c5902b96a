#include <algorithm>
#include <vector>

#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

OperatorCost copy_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return traffic(inputs, outputs);
}

Result<std::vector<ValueInfo>> infer_flatten(const Node& node, const OperatorInputs& inputs) {
  const Shape& shape = inputs.values[0]->shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t given = node.int_or("axis", 1);
  if (given < -rank || given > rank) {
    return make_error(Code::invalid_argument,
                      "attribute axis is " + std::to_string(given) + ", input has shape " + to_string(shape));
  }
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  if (!shape.is_symbolic()) {
    return std::vector<ValueInfo>{
        {inputs.values[0]->dtype, Shape{shape.elements(0, axis), shape.elements(axis, shape.rank())}}};
  }
  if (axis == 0 || shape.elements(1, axis) != 1) {
    return make_error(Code::unimplemented, "axis " + std::to_string(axis) + " would merge the batch of input " +
                                               to_string(shape) + " with other dimensions");
  }
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape{kBatch, shape.elements(axis, shape.rank())}}};
}

// 0 copies the input's dimension; -1 stays for fill_in_minus_one.
Result<std::vector<std::int64_t>> wanted_dims(const Shape& input, const Tensor& shape) {
  const auto given = shape.as<std::int64_t>();
  std::vector<std::int64_t> dims(given.begin(), given.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1 || (dims[i] == 0 && i >= input.rank())) {
      return make_error(Code::invalid_argument,
                        "value " + std::to_string(dims[i]) + " at " + std::to_string(i) + " of the new shape");
    }
    if (dims[i] == 0 && i > 0) dims[i] = input[i];
    if (dims[i] == 0 && i == 0 && !input.is_symbolic()) dims[i] = input[i];
  }
  if (std::count(dims.begin(), dims.end(), -1) > 1) {
    return make_error(Code::invalid_argument, "the new shape has more than one -1");
  }
  return dims;
}

// Product of dimensions [first, last) that are not -1; -1 where it is larger than `most`.
std::int64_t bounded_product(const std::vector<std::int64_t>& dims, std::size_t first, std::int64_t most) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < dims.size(); ++i) {
    if (dims[i] == -1) continue;
    if (dims[i] > 0 && product > most / dims[i]) return -1;
    product *= dims[i];
  }
  return product;
}

// Reshapes what is fixed: all dimensions, or those after a symbolic batch. False: the elements do not fit.
bool fill_in_minus_one(std::vector<std::int64_t>& dims, std::size_t first, std::int64_t elements) {
  const std::int64_t known = bounded_product(dims, first, std::max<std::int64_t>(elements, 1));
  const auto unknown = std::find(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end(), -1);
  if (unknown == dims.end()) return known == elements;
  if (known <= 0 || elements % known != 0) return false;
  *unknown = elements / known;
  return true;
}

Result<std::vector<ValueInfo>> infer_reshape(const Node& node, const OperatorInputs& inputs) {
  const Shape& input = inputs.values[0]->shape;
  const Tensor* shape = inputs.constants[1];
  if (shape == nullptr || shape->dtype() != DType::i64 || shape->shape().rank() != 1) {
    return make_error(Code::unimplemented, "the new shape (input 1) must be a constant i64 vector");
  }
  if (node.int_or("allowzero", 0) != 0) return make_error(Code::unimplemented, "attribute allowzero is not supported");
  MG_TRY(std::vector<std::int64_t> dims, wanted_dims(input, *shape));
  const std::string wanted =
      to_string(Shape(std::vector<std::int64_t>(shape->as<std::int64_t>().begin(), shape->as<std::int64_t>().end())));
  const Error misfit =
      make_error(Code::invalid_argument, "input " + to_string(input) + " cannot take the shape " + wanted +
                                             (input.is_symbolic() ? " with the batch kept first" : ""));
  if (!input.is_symbolic()) {
    if (!fill_in_minus_one(dims, 0, input.elements())) return misfit;
    return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape(std::move(dims))}};
  }
  // The batch must stay dimension 0: asked for by 0, or by -1 where the other dimensions hold one sample exactly.
  if (dims.empty() || (dims[0] != 0 && dims[0] != -1)) return misfit;
  dims[0] = kBatch;
  if (!fill_in_minus_one(dims, 1, input.elements(1, input.rank()))) return misfit;
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape(std::move(dims))}};
}

Operator shape_operator(std::string_view type, std::size_t min_inputs, std::size_t max_inputs) {
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .infer = {},
          .cost = copy_cost};
}

/// Flatten: the dimensions before and after `axis` merged: [N, C, H, W] to [N, C H W].
Operator flatten() {
  Operator row = shape_operator("Flatten", 1, 1);
  row.attributes = {{"axis", Operator::AttributeKind::integer}};
  row.infer = infer_flatten;
  return row;
}

/// Reshape: the same elements under the constant shape of input 1.
Operator reshape() {
  Operator row = shape_operator("Reshape", 2, 2);
  row.attributes = {{"allowzero", Operator::AttributeKind::integer}};
  row.infer = infer_reshape;
  return row;
}

}  // namespace

std::vector<Operator> shapes() {
  return {flatten(), reshape()};
}

}  // namespace mangrove::rows
