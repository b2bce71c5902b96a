// Operators that move the values of shape computations or make new ones, without computing with them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/shape_evaluators.h"

namespace mangrove::shape_evaluators {
namespace {

using Ints = std::vector<std::int64_t>;

// The same elements under another shape, which has as many.
ShapeValue with_shape(const ShapeValue& value, Ints dims) {
  return {.dtype = value.dtype, .shape = Shape(std::move(dims)), .elements = value.elements};
}

// A shape as another value gives it: one of its dimensions may be the batch or a multiple of it.
Result<Shape> shape_from(const ShapeValue& value) {
  if (value.dtype != DType::i64 || value.shape.rank() != 1) return unknown("a shape that is no i64 vector");
  Ints dims;
  for (const ShapeValue::Element& element : value.elements) {
    dims.push_back(element.is_batch() ? -element.batches : element.integer);
  }
  const auto batches = std::count_if(value.elements.begin(), value.elements.end(),
                                     [](const ShapeValue::Element& element) { return element.is_batch(); });
  if (batches > 1 || std::count_if(dims.begin(), dims.end(), [](auto dim) { return dim < 0; }) != batches) {
    return unknown("shape " + to_string(Shape(dims)));
  }
  return Shape(std::move(dims));
}

Status check_fixed(const ShapeValue& value) {
  return value.shape.is_symbolic() ? Status(unknown("a value with the batch in its shape")) : Status();
}

Result<ShapeValue> identity(const Node&, Inputs inputs) {
  return *inputs[0];
}

Result<ShapeValue> constant_of_shape(const Node& node, Inputs inputs) {
  MG_TRY(const Shape shape, shape_from(*inputs[0]));
  MG_TRY(const std::size_t count, elements_to_store(shape));
  MG_TRY(const Tensor fill, attribute_or<Tensor>(node, "value", Tensor(DType::f32, Shape{1})));
  if (fill.elements() != 1) return unknown("attribute 'value' of several elements");
  const ShapeValue one = shape_value_of(fill);
  return ShapeValue{.dtype = one.dtype, .shape = shape, .elements = {count, one.elements[0]}};
}

Result<ShapeValue> expand(const Node&, Inputs inputs) {
  MG_TRY(const Shape wanted, shape_from(*inputs[1]));
  MG_TRY(const Shape shape, broadcast(inputs[0]->shape, wanted));
  MG_RETURN_IF_ERROR(elements_to_store(shape));
  if (!shape.is_symbolic()) return strided(*inputs[0], shape, broadcast_strides(inputs[0]->shape, shape));
  if (inputs[0]->elements.size() != 1) return unknown("values that differ, repeated over the batch");
  return ShapeValue{.dtype = inputs[0]->dtype, .shape = shape, .elements = inputs[0]->elements};
}

Result<ShapeValue> gather(const Node& node, Inputs inputs) {
  const ShapeValue& data = *inputs[0];
  MG_TRY(const std::int64_t given, attribute_or<std::int64_t>(node, "axis", 0));
  MG_TRY(const std::size_t axis, axis_of(given, data.shape.rank()));
  if (data.shape.rank() != 1) return unknown("a value of rank " + std::to_string(data.shape.rank()));
  MG_RETURN_IF_ERROR(check_fixed(data));
  ShapeValue result{.dtype = data.dtype, .shape = inputs[1]->shape, .elements = {}};
  for (const ShapeValue::Element& index : inputs[1]->elements) {
    if (index.is_batch()) return unknown("an index that is the batch");
    const std::int64_t size = data.shape[axis];
    if (index.integer < -size || index.integer >= size) {
      return unknown("index " + std::to_string(index.integer) + " into " + std::to_string(size) + " values");
    }
    const std::int64_t position = index.integer < 0 ? index.integer + size : index.integer;
    result.elements.push_back(data.elements[static_cast<std::size_t>(position)]);
  }
  return result;
}

Result<ShapeValue> concat(const Node& node, Inputs inputs) {
  MG_TRY(const std::int64_t given, attribute_or<std::int64_t>(node, "axis", 0));
  const Shape& first = inputs[0]->shape;
  MG_TRY(const std::size_t axis, axis_of(given, first.rank()));
  ShapeValue result{.dtype = inputs[0]->dtype, .shape = first, .elements = {}};
  result.shape[axis] = 0;
  for (const ShapeValue* input : inputs) {
    MG_RETURN_IF_ERROR(check_fixed(*input));
    Shape rest = input->shape;
    if (rest.rank() != first.rank() || input->dtype != result.dtype) return unknown("parts of different kinds");
    result.shape[axis] += input->shape[axis];
    rest[axis] = first[axis];
    if (rest != first) return unknown("parts of different shapes");
  }
  MG_RETURN_IF_ERROR(elements_to_store(result.shape));
  const std::int64_t outer = first.elements(0, axis);
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const ShapeValue* input : inputs) {
      const std::int64_t length = input->shape.elements(axis, input->shape.rank());
      const auto from = input->elements.begin() + row * length;
      result.elements.insert(result.elements.end(), from, from + length);
    }
  }
  return result;
}

// One dimension of a Slice: elements start, start + step, ... `count` of them.
struct Cut {
  std::int64_t start;
  std::int64_t count;
  std::int64_t step;
};

Result<Cut> cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return unknown("step " + std::to_string(step));
  const std::int64_t least = step > 0 ? 0 : -1;
  const std::int64_t most = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0 && end >= -size) end += size;
  start = std::clamp(start, step > 0 ? std::int64_t{0} : least, most);
  end = std::clamp(end, least, most);
  const std::int64_t span = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  return Cut{start, span > 0 ? (span - 1) / stride + 1 : 0, step};
}

Result<ShapeValue> slice(const Node&, Inputs inputs) {
  const ShapeValue& data = *inputs[0];
  MG_TRY(const Ints starts, integers_of(*inputs[1]));
  MG_TRY(const Ints ends, integers_of(*inputs[2]));
  Ints axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs.size() > 3 && inputs[3] != nullptr) {
    MG_TRY(axes, integers_of(*inputs[3]));
  }
  if (inputs.size() > 4 && inputs[4] != nullptr) {
    MG_TRY(steps, integers_of(*inputs[4]));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return unknown("starts, ends, axes and steps of different lengths");
  }
  Shape shape = data.shape;
  Ints strides = row_major_strides(shape);
  std::int64_t first = 0;
  std::set<std::size_t> cut_axes;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    MG_TRY(const std::size_t axis, axis_of(axes[i], shape.rank()));
    if (data.shape[axis] < 0) return unknown("a part of the batch");
    if (!cut_axes.insert(axis).second) return unknown("an axis that is sliced twice");
    MG_TRY(const Cut cut, cut_of(starts[i], ends[i], steps[i], data.shape[axis]));
    first += cut.start * strides[axis];
    strides[axis] *= cut.step;
    shape[axis] = cut.count;
  }
  if (data.shape.is_symbolic()) return ShapeValue{.dtype = data.dtype, .shape = shape, .elements = data.elements};
  return strided(data, shape, strides, first);
}

// The axes that input 1 names, counted from the front in a value of this rank.
Result<std::vector<bool>> named_axes(const ShapeValue& axes, std::size_t rank) {
  MG_TRY(const Ints given, integers_of(axes));
  std::vector<bool> named(rank, false);
  for (const std::int64_t one : given) {
    MG_TRY(const std::size_t axis, axis_of(one, rank));
    named[axis] = true;
  }
  return named;
}

Result<ShapeValue> squeeze(const Node&, Inputs inputs) {
  const Shape& shape = inputs[0]->shape;
  std::vector<bool> dropped(shape.rank());
  for (std::size_t i = 0; i < shape.rank(); ++i) dropped[i] = shape[i] == 1;
  if (inputs.size() > 1 && inputs[1] != nullptr) {
    MG_TRY(dropped, named_axes(*inputs[1], shape.rank()));
  }
  Ints dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (!dropped[i]) dims.push_back(shape[i]);
    if (dropped[i] && shape[i] != 1) return unknown("a squeezed dimension of " + std::to_string(shape[i]));
  }
  return with_shape(*inputs[0], std::move(dims));
}

Result<ShapeValue> unsqueeze(const Node&, Inputs inputs) {
  const Shape& shape = inputs[0]->shape;
  const std::size_t rank = shape.rank() + inputs[1]->elements.size();
  MG_TRY(const std::vector<bool> added, named_axes(*inputs[1], rank));
  if (static_cast<std::size_t>(std::count(added.begin(), added.end(), true)) != inputs[1]->elements.size()) {
    return unknown("an axis named twice");
  }
  Ints dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : shape[next++]);
  return with_shape(*inputs[0], std::move(dims));
}

Result<ShapeValue> reshape(const Node& node, Inputs inputs) {
  MG_RETURN_IF_ERROR(check_fixed(*inputs[0]));
  MG_TRY(Ints dims, integers_of(*inputs[1]));
  MG_TRY(const std::int64_t allow_zero, attribute_or<std::int64_t>(node, "allowzero", 0));
  const Shape& from = inputs[0]->shape;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && allow_zero == 0 && i < from.rank()) dims[i] = from[i];
    if (dims[i] < -1 || dims[i] > kMostShapeElements) return unknown("dimension " + std::to_string(dims[i]));
    if (dims[i] != -1) known *= dims[i];
    if (known > kMostShapeElements) return unknown("a shape that does not fit");
  }
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end() && known > 0) *open = from.elements() / known;
  if (std::count(dims.begin(), dims.end(), -1) > 0) return unknown("a shape that does not fit");
  if (Shape(dims).elements() != from.elements()) return unknown("a shape that does not fit");
  return with_shape(*inputs[0], std::move(dims));
}

Result<ShapeValue> transpose(const Node& node, Inputs inputs) {
  MG_RETURN_IF_ERROR(check_fixed(*inputs[0]));
  const Shape& from = inputs[0]->shape;
  Ints reversed(from.rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  MG_TRY(const Ints order, attribute_or<Ints>(node, "perm", reversed));
  if (!std::is_permutation(order.begin(), order.end(), reversed.begin(), reversed.end())) {
    return unknown("attribute 'perm' is no permutation");
  }
  const Ints old_strides = row_major_strides(from);
  Shape shape = from;
  Ints strides(from.rank());
  for (std::size_t i = 0; i < order.size(); ++i) {
    shape[i] = from[static_cast<std::size_t>(order[i])];
    strides[i] = old_strides[static_cast<std::size_t>(order[i])];
  }
  return strided(*inputs[0], shape, strides);
}

// Range: start, start + delta, ... before limit.
Result<ShapeValue> range(const Node&, Inputs inputs) {
  const DType dtype = inputs[0]->dtype;
  for (const ShapeValue* input : inputs) {
    if (input->dtype != dtype || input->elements.size() != 1) return unknown("three numbers are expected");
    if (input->elements[0].is_batch()) return unknown("a range up to the batch");
  }
  const bool real = dtype == DType::f32 || dtype == DType::f64;
  const auto number = [&](std::size_t i) {
    const ShapeValue::Element& element = inputs[i]->elements[0];
    return real ? element.real : static_cast<double>(element.integer);
  };
  const double count = std::ceil((number(1) - number(0)) / number(2));
  if (!(count <= static_cast<double>(kMostShapeElements))) return unknown("a range that is too long");
  ShapeValue result{.dtype = dtype, .shape = {}, .elements = {}};
  for (std::int64_t i = 0; static_cast<double>(i) < count; ++i) {
    if (real) {
      const double value = number(0) + static_cast<double>(i) * number(2);
      result.elements.push_back({.real = dtype == DType::f32 ? static_cast<float>(value) : value});
    } else {
      const auto step = static_cast<std::uint64_t>(inputs[2]->elements[0].integer);  // wraps around, as it must
      const auto first = static_cast<std::uint64_t>(inputs[0]->elements[0].integer);
      result.elements.push_back({.integer = static_cast<std::int64_t>(first + static_cast<std::uint64_t>(i) * step)});
    }
  }
  result.shape = Shape{static_cast<std::int64_t>(result.elements.size())};
  return result;
}

constexpr std::size_t kAny = 64;

constexpr Row kRows[] = {
    {"Concat", 1, kAny, concat},    {"ConstantOfShape", 1, 1, constant_of_shape},
    {"Expand", 2, 2, expand},       {"Gather", 2, 2, gather},
    {"Identity", 1, 1, identity},   {"Range", 3, 3, range},
    {"Reshape", 2, 2, reshape},     {"Slice", 3, 5, slice},
    {"Squeeze", 1, 2, squeeze},     {"Transpose", 1, 1, transpose},
    {"Unsqueeze", 2, 2, unsqueeze},
};

}  // namespace

std::span<const Row> movement() {
  return kRows;
}

}  // namespace mangrove::shape_evaluators
