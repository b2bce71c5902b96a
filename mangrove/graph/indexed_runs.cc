#include "mangrove/graph/indexed_runs.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove {
namespace {

using Dims = std::vector<std::int64_t>;

bool indexes_elements(const Node& node) {
  return node.op == "GatherElements" || node.op == "ScatterElements";
}

std::string both_shapes(const Shape& data, const Shape& indices) {
  return "data " + to_string(data) + " and indices " + to_string(indices);
}

// The dimensions of the data that the indices are of: from `first` on, `count` of them.
struct Indexed {
  std::size_t first;
  std::size_t count;
};

Result<Indexed> indexed_axis(const Node& node, const Shape& data, const Shape& indices) {
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", 0), data));
  if (indices.rank() != data.rank()) {
    return make_error(Code::invalid_argument, both_shapes(data, indices) + ", expected two of the same rank");
  }
  for (std::size_t i = 0; i < data.rank(); ++i) {
    const bool fits = data[i] < 0 || indices[i] < 0 ? data[i] == indices[i] : indices[i] <= data[i];
    if (i != axis && !fits) {
      return make_error(Code::invalid_argument,
                        both_shapes(data, indices) + ": dimension " + std::to_string(i) + " of the indices is larger");
    }
  }
  return Indexed{axis, 1};
}

Result<Indexed> indexed_prefix(const Node& node, const Shape& data, const Shape& indices) {
  const std::int64_t given = node.int_or("batch_dims", 0);
  const auto fits = [](std::int64_t size, std::size_t rank) { return size < static_cast<std::int64_t>(rank); };
  if (given < 0 || !fits(given, data.rank()) || !fits(given, indices.rank())) {
    return make_error(Code::invalid_argument, "attribute batch_dims is " + std::to_string(given) + " for " +
                                                  both_shapes(data, indices) + ", expected less than their ranks");
  }
  const auto batch_dims = static_cast<std::size_t>(given);
  for (std::size_t i = 0; i < batch_dims; ++i) {
    if (data[i] == indices[i]) continue;
    return make_error(Code::invalid_argument, both_shapes(data, indices) + " differ in dimension " + std::to_string(i) +
                                                  ", which attribute batch_dims says they share");
  }
  const std::int64_t count = indices[indices.rank() - 1];
  if (count < 0 || count > static_cast<std::int64_t>(data.rank() - batch_dims)) {
    return make_error(Code::invalid_argument, both_shapes(data, indices) + ": expected at most as many indices in a " +
                                                  "row as there are dimensions");
  }
  return Indexed{batch_dims, static_cast<std::size_t>(count)};
}

Result<Indexed> indexed_dimensions(const Node& node, const Shape& data, const Shape& indices) {
  return indexes_elements(node) ? indexed_axis(node, data, indices) : indexed_prefix(node, data, indices);
}

Status check_indices(const Tensor& indices, const Shape& data, const Indexed& indexed) {
  MG_TRY(const auto values, constant_integers(&indices, "indices (input 1)"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t axis = indexed.first + i % indexed.count;
    if (values[i] >= -data[axis] && values[i] < data[axis]) continue;
    return make_error(Code::invalid_argument, "index " + std::to_string(values[i]) + " is outside dimension " +
                                                  std::to_string(axis) + " of data " + to_string(data));
  }
  return {};
}

Dims strides_of(const Shape& shape) {
  Dims strides;
  for (std::size_t i = 0; i < shape.rank(); ++i) strides.push_back(shape.elements(i + 1, shape.rank()));
  return strides;
}

}  // namespace

std::int64_t IndexedRuns::runs() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Result<Shape> indexed_shape(const Node& node, const Shape& data, const Shape& shape, const Tensor* indices) {
  MG_TRY(const Indexed indexed, indexed_dimensions(node, data, shape));
  const std::size_t last = indexed.first + indexed.count;
  if (const auto batch = data.symbolic_axis(); batch && *batch >= indexed.first && *batch < last) {
    return make_error(Code::unimplemented, "the indices are of the batch of data " + to_string(data));
  }
  if (indices != nullptr) MG_RETURN_IF_ERROR(check_indices(*indices, data, indexed));
  if (indexes_elements(node)) return shape;
  Dims dims(shape.begin(), shape.end() - 1);
  dims.insert(dims.end(), data.begin() + static_cast<std::ptrdiff_t>(last), data.end());
  return Shape(std::move(dims));
}

IndexedRuns indexed_runs(const Node& node, const Shape& data, const Shape& indices) {
  const Indexed indexed = indexed_dimensions(node, data, indices).value();
  const Dims strides = strides_of(data);
  IndexedRuns runs;
  runs.components = static_cast<std::int64_t>(indexed.count);
  for (std::size_t i = indexed.first; i < indexed.first + indexed.count; ++i) {
    runs.indexed.push_back(data[i]);
    runs.pitches.push_back(strides[i]);
  }
  if (indexes_elements(node)) {
    runs.dims = indices.dims();
    runs.strides = strides;
    runs.strides[indexed.first] = 0;
    return runs;
  }
  runs.inner = data.elements(indexed.first + indexed.count, data.rank());
  runs.dims.assign(indices.begin(), indices.end() - 1);
  runs.strides.assign(runs.dims.size(), 0);
  std::copy_n(strides.begin(), indexed.first, runs.strides.begin());
  return runs;
}

Result<ScatterReduction> scatter_reduction(const Node& node) {
  const std::string name = node.string_or("reduction", "none");
  if (name == "none") return ScatterReduction::none;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  if (name == "max") return ScatterReduction::max;
  if (name == "min") return ScatterReduction::min;
  return make_error(Code::invalid_argument,
                    "attribute reduction is '" + name + "', expected none, add, mul, max or min");
}

}  // namespace mangrove
