#include <algorithm>
#include <span>
#include <vector>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/constant_values.h"
#include "mangrove/graph/movement_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

// Product of dimensions [first, last), which is a multiple of the batch where the batch is among them.
std::int64_t merged(const Shape& shape, std::size_t first, std::size_t last) {
  const auto batch = shape.symbolic_axis();
  if (!batch || *batch < first || *batch >= last) return shape.elements(first, last);
  return shape.elements(first, *batch) * shape[*batch] * shape.elements(*batch + 1, last);
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
  const Shape merged_shape{merged(shape, 0, axis), merged(shape, axis, shape.rank())};
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, merged_shape}};
}

using Dims = std::vector<std::int64_t>;

// The new shape as given, with 0 replaced by the input's dimension, which for the batch is negative, too.
Result<Dims> wanted_dims(const Shape& input, std::span<const std::int64_t> given, bool allow_zero) {
  Dims dims(given.begin(), given.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1 || (dims[i] == 0 && !allow_zero && i >= input.rank())) {
      return make_error(Code::invalid_argument,
                        "value " + std::to_string(dims[i]) + " at " + std::to_string(i) + " of the new shape");
    }
    if (dims[i] == 0 && !allow_zero) dims[i] = input[i];
  }
  if (std::count(given.begin(), given.end(), -1) > 1) {
    return make_error(Code::invalid_argument, "the new shape has more than one -1");
  }
  return dims;
}

// Makes the product of dims equal to `elements`, by filling in a -1 if there is one. False: they do not fit.
bool fit(std::span<std::int64_t> dims, std::int64_t elements) {
  std::int64_t known = 1;
  for (const std::int64_t dim : dims) {
    if (dim == -1) continue;
    if (dim > 0 && known > std::max<std::int64_t>(elements, 1) / dim) return false;
    known *= dim;
  }
  const auto unknown = std::find(dims.begin(), dims.end(), -1);
  if (unknown == dims.end()) return known == elements;
  if (known == 0 || elements % known != 0) return false;
  *unknown = elements / known;
  return true;
}

// Where the batch is kept: a 0 copies it, else -1 stands for it and what is merged with it. False: they do not fit.
bool fit_with_batch(Dims& dims, std::span<const std::int64_t> given, const Shape& input) {
  const std::size_t from = *input.symbolic_axis();
  if (from < dims.size() && given[from] == 0 && dims[from] == input[from]) {
    dims[from] = 1;
    const bool fits = fit(dims, input.elements(0, from) * input.elements(from + 1, input.rank()));
    dims[from] = input[from];
    return fits;
  }
  const auto unknown = std::find(dims.begin(), dims.end(), -1);
  if (unknown == dims.end() || !fit(dims, input.with_batch(1).elements())) return false;
  *unknown = -*unknown;
  return true;
}

Result<std::vector<ValueInfo>> infer_reshape(const Node& node, const OperatorInputs& inputs) {
  const Shape& input = inputs.values[0]->shape;
  const Tensor* shape = inputs.constants[1];
  if (shape == nullptr || shape->dtype() != DType::i64 || shape->shape().rank() != 1) {
    return make_error(Code::unimplemented, "the new shape (input 1) must be a constant i64 vector");
  }
  const auto given = shape->as<std::int64_t>();
  MG_TRY(Dims dims, wanted_dims(input, given, node.int_or("allowzero", 0) != 0));
  if (input.is_symbolic() ? fit_with_batch(dims, given, input) : fit(dims, input.elements())) {
    return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape(std::move(dims))}};
  }
  return make_error(Code::invalid_argument, "input " + to_string(input) + " cannot take the shape " +
                                                to_string(Shape(Dims(given.begin(), given.end()))) +
                                                (input.is_symbolic() ? " with the batch kept a dimension" : ""));
}

// The dimensions that constant input 1 lists, in ascending order; negative ones count from the end of `counted_in`.
Result<std::vector<std::size_t>> listed_axes(const OperatorInputs& inputs, const Shape& counted_in) {
  MG_TRY(const Dims given, constant_integers(inputs.constants[1], "axes (input 1)"));
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) {
    MG_TRY(const std::size_t position, resolve_axis(axis, counted_in));
    axes.push_back(position);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return make_error(Code::invalid_argument, "axes (input 1) are " + to_string(Shape(given)) + ", one of them twice");
  }
  return axes;
}

Result<std::vector<ValueInfo>> infer_squeeze(const Node& node, const OperatorInputs& inputs) {
  const Shape& input = inputs.values[0]->shape;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (input[i] == 1) axes.push_back(i);
  }
  if (has_input(node, 1)) {
    MG_TRY(axes, listed_axes(inputs, input));
  }
  Dims dims = input.dims();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (input[*axis] != 1) {
      return make_error(Code::invalid_argument, "dimension " + std::to_string(*axis) + " of input " + to_string(input) +
                                                    " is to be left out, but its size is not 1");
    }
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape(std::move(dims))}};
}

Result<std::vector<ValueInfo>> infer_unsqueeze(const Node&, const OperatorInputs& inputs) {
  const Shape& input = inputs.values[0]->shape;
  const std::int64_t more = inputs.constants[1] == nullptr ? 0 : inputs.constants[1]->elements();
  const Shape result(Dims(input.rank() + static_cast<std::size_t>(more), 1));  // what the axes count in
  MG_TRY(const std::vector<std::size_t> axes, listed_axes(inputs, result));
  Dims dims = input.dims();
  for (const std::size_t axis : axes) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, Shape(std::move(dims))}};
}

Result<std::vector<ValueInfo>> infer_expand(const Node&, const OperatorInputs& inputs) {
  MG_TRY(const Shape wanted, constant_shape(inputs.constants[1], "the shape (input 1)"));
  MG_TRY(Shape shape, broadcast(inputs.values[0]->shape, wanted));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, std::move(shape)}};
}

Operator shape_operator(std::string_view type, std::size_t min_inputs, std::size_t max_inputs) {
  Operator row = moving_operator(type, min_inputs, max_inputs);
  row.parameters = {0};
  return row;
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
  row.constants = {1};
  row.infer = infer_reshape;
  return row;
}

/// Squeeze: dimensions of size 1 left out, those of constant input 1 or all.
Operator squeeze() {
  Operator row = shape_operator("Squeeze", 1, 2);
  row.constants = {1};
  row.infer = infer_squeeze;
  return row;
}

/// Unsqueeze: dimensions of size 1 put in; constant input 1 says where they are in the result.
Operator unsqueeze() {
  Operator row = shape_operator("Unsqueeze", 2, 2);
  row.constants = {1};
  row.infer = infer_unsqueeze;
  return row;
}

/// Expand: the input broadcast with the constant shape of input 1, in which -k is k times the batch.
Operator expand() {
  Operator row = shape_operator("Expand", 2, 2);
  row.constants = {1};
  row.infer = infer_expand;
  return row;
}

}  // namespace

std::vector<Operator> shapes() {
  return {expand(), flatten(), reshape(), squeeze(), unsqueeze()};
}

}  // namespace mangrove::rows
