#include <cmath>
#include <vector>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/constant_values.h"
#include "mangrove/graph/indexed_runs.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using Infos = std::vector<ValueInfo>;
using Kind = Operator::AttributeKind;

Operator indexing_operator(std::string_view type, std::size_t inputs, std::vector<Operator::AttributeRule> attributes) {
  Operator row = moving_operator(type, inputs, inputs, std::move(attributes));
  row.mixes_samples = true;
  return row;
}

// The shape of what the indices name.
Result<Shape> named_shape(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo &data = *inputs.values[0], &indices = *inputs.values[1];
  if (indices.dtype != DType::i64 && indices.dtype != DType::i32) {
    return make_error(Code::invalid_argument, std::string("indices (input 1) have type ") + dtype_name(indices.dtype) +
                                                  ", expected i64 or i32");
  }
  return indexed_shape(node, data.shape, indices.shape, inputs.constants[1]);
}

Result<Infos> infer_gather(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(Shape shape, named_shape(node, inputs));
  return Infos{{inputs.values[0]->dtype, std::move(shape)}};
}

/// GatherElements: y[i, j, ...] = data[i, indices[i, j, ...], ...], the index in place of the one along `axis`. A fed
/// index that does not exist gives 0.
Operator gather_elements() {
  Operator row = indexing_operator("GatherElements", 2, {{"axis", Kind::integer}});
  row.parameters = {0};
  row.infer = infer_gather;
  return row;
}

/// GatherND: y[i, ...] = data[indices[i, 0], indices[i, 1], ...]: each row of indices names an element of the data, or
/// a slice of it; for each index of the first `batch_dims` dimensions anew. A fed index that does not exist gives 0.
Operator gather_nd() {
  Operator row = indexing_operator("GatherND", 2, {{"batch_dims", Kind::integer}});
  row.parameters = {0};
  row.infer = infer_gather;
  return row;
}

Result<Infos> infer_scatter(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo &data = *inputs.values[0], &updates = *inputs.values[2];
  MG_TRY(const Shape shape, named_shape(node, inputs));
  if (updates.shape != shape || updates.dtype != data.dtype) {
    return make_error(Code::invalid_argument, std::string("updates (input 2) are ") + dtype_name(updates.dtype) + " " +
                                                  to_string(updates.shape) + ", expected " + dtype_name(data.dtype) +
                                                  " " + to_string(shape));
  }
  if (shape.is_symbolic() && !data.shape.is_symbolic()) {
    return make_error(Code::unimplemented, "updates (input 2) " + to_string(shape) +
                                               " of all samples would go into one data " + to_string(data.shape));
  }
  MG_TRY(const ScatterReduction reduction, scatter_reduction(node));
  if (reduction != ScatterReduction::none && data.dtype == DType::boolean) {
    return make_error(Code::unimplemented, "attribute reduction is given for data of type bool");
  }
  return Infos{data};
}

/// ScatterElements: the data, in which data[i, indices[i, j, ...], ...] is replaced by updates[i, j, ...], or their
/// sum, product, maximum or minimum. Where several name one element, the last replaces it. An update whose fed index
/// does not exist is left out.
Operator scatter_elements() {
  Operator row = indexing_operator("ScatterElements", 3, {{"axis", Kind::integer}, {"reduction", Kind::string}});
  row.parameters = {0, 2};
  row.infer = infer_scatter;
  return row;
}

/// ScatterND: the same with elements and slices named as in GatherND.
Operator scatter_nd() {
  Operator row = indexing_operator("ScatterND", 3, {{"reduction", Kind::string}});
  row.parameters = {0, 2};
  row.infer = infer_scatter;
  return row;
}

Result<Infos> infer_one_hot(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo &indices = *inputs.values[0], &values = *inputs.values[2];
  MG_RETURN_IF_ERROR(check_constant_scalar(inputs, 1, "depth (input 1)"));
  MG_TRY(const std::int64_t depth, one_hot_depth(*inputs.constants[1]));
  if (indices.dtype == DType::boolean || values.shape != Shape{2}) {
    return make_error(Code::invalid_argument, std::string("indices are ") + dtype_name(indices.dtype) +
                                                  " and values (input 2) have shape " + to_string(values.shape) +
                                                  ", expected numbers and two values");
  }
  std::vector<std::int64_t> dims = indices.shape.dims();
  const Shape with_depth(std::vector<std::int64_t>(dims.size() + 1, 1));  // what the axis counts in
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", -1), with_depth));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  return Infos{{values.dtype, Shape(std::move(dims))}};
}

/// OneHot: along a new dimension of size depth (input 1, constant), values[1] (input 2) where the index says, else
/// values[0]. Negative indices count from the end; of one that does not exist all is values[0].
Operator one_hot() {
  Operator row = indexing_operator("OneHot", 3, {{"axis", Kind::integer}});
  row.constants = {1};
  row.differentiable = false;
  row.infer = infer_one_hot;
  return row;
}

}  // namespace

std::vector<Operator> indexing() {
  return {gather_elements(), gather_nd(), one_hot(), scatter_elements(), scatter_nd()};
}

}  // namespace mangrove::rows
