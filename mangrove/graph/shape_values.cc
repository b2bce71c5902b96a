#include "mangrove/graph/shape_values.h"

#include <algorithm>
#include <string>

#include "mangrove/base/check.h"
#include "mangrove/graph/shape_evaluators.h"

namespace mangrove {
namespace shape_evaluators {

Result<std::size_t> elements_to_store(const Shape& shape) {
  if (shape.is_symbolic()) return std::size_t{1};
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return unknown("shape " + to_string(shape) + " has a negative dimension");
    if (dim > 0 && elements > kMostShapeElements / dim) {
      return unknown("shape " + to_string(shape) + " is too large to be computed while loading");
    }
    elements *= dim;
  }
  return static_cast<std::size_t>(elements);
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (std::size_t i = shape.rank(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Shape& source, const Shape& shape) {
  if (source.is_symbolic()) return std::vector<std::int64_t>(shape.rank(), 0);  // all elements are alike
  const std::vector<std::int64_t> own = row_major_strides(source);
  std::vector<std::int64_t> strides(shape.rank(), 0);
  const std::size_t missing = shape.rank() - source.rank();
  for (std::size_t i = 0; i < source.rank(); ++i) strides[i + missing] = source[i] == 1 ? 0 : own[i];
  return strides;
}

ShapeValue strided(const ShapeValue& source, const Shape& shape, std::span<const std::int64_t> strides,
                   std::int64_t start) {
  ShapeValue result{.dtype = source.dtype, .shape = shape, .elements = {}};
  const std::int64_t count = shape.elements();
  std::vector<std::int64_t> index(shape.rank(), 0);
  std::int64_t offset = start;
  for (std::int64_t n = 0; n < count; ++n) {
    result.elements.push_back(source.elements[static_cast<std::size_t>(offset)]);
    for (std::size_t i = shape.rank(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return result;
}

Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return unknown("axis " + std::to_string(axis) + " of a value of rank " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::vector<std::int64_t>> integers_of(const ShapeValue& value) {
  if (value.dtype == DType::f32 || value.dtype == DType::f64) return unknown("reals where integers are expected");
  if (value.shape.rank() > 1) return unknown("shape " + to_string(value.shape) + " where a vector is expected");
  std::vector<std::int64_t> integers;
  for (const ShapeValue::Element& element : value.elements) {
    if (element.is_batch()) return unknown("the batch where a number is expected");
    integers.push_back(element.integer);
  }
  return integers;
}

}  // namespace shape_evaluators

namespace {

using shape_evaluators::Row;
using shape_evaluators::unknown;

const Row* find_row(std::string_view op) {
  for (const auto family : {shape_evaluators::arithmetic(), shape_evaluators::movement()}) {
    for (const Row& row : family) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

template <class T>
ShapeValue read_elements(const Tensor& tensor) {
  ShapeValue value{.dtype = tensor.dtype(), .shape = tensor.shape(), .elements = {}};
  for (const T element : tensor.as<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      value.elements.push_back({.real = static_cast<double>(element)});
    } else {
      value.elements.push_back({.integer = static_cast<std::int64_t>(element)});
    }
  }
  return value;
}

template <class T>
Tensor write_elements(const ShapeValue& value) {
  Tensor tensor(value.dtype, value.shape);
  const auto out = tensor.as<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ShapeValue::Element& element = value.elements[i];
    if constexpr (std::is_floating_point_v<T>) {
      out[i] = static_cast<T>(element.is_batch() ? static_cast<double>(-element.batches) : element.real);
    } else {
      out[i] = static_cast<T>(element.is_batch() ? -element.batches : element.integer);
    }
  }
  return tensor;
}

// use(T()) for the type of the elements.
template <class Use>
auto with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::f32:
      return use(float());
    case DType::f64:
      return use(double());
    case DType::i32:
      return use(std::int32_t());
    case DType::i64:
      return use(std::int64_t());
    case DType::u8:
      return use(std::uint8_t());
    case DType::i8:
      return use(std::int8_t());
    case DType::boolean:
      return use(bool());
  }
  MG_CHECK_MSG(false, "no such type");
}

ShapeValue vector_of_dims(const Shape& shape, std::size_t first, std::size_t last) {
  ShapeValue value;
  for (std::size_t i = first; i < last; ++i) {
    const bool is_batch = shape[i] < 0;
    value.elements.push_back({.integer = is_batch ? 0 : shape[i], .batches = is_batch ? -shape[i] : 0});
  }
  value.shape = Shape{static_cast<std::int64_t>(value.elements.size())};
  return value;
}

// Shape: the dimensions [start, end) of its input.
Result<ShapeValue> evaluate_shape(const Node& node, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto position = [rank](std::int64_t at) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank));
  };
  MG_TRY(const std::int64_t start, shape_evaluators::attribute_or<std::int64_t>(node, "start", 0));
  MG_TRY(const std::int64_t end, shape_evaluators::attribute_or<std::int64_t>(node, "end", rank));
  return vector_of_dims(shape, position(start), std::max(position(start), position(end)));
}

Result<ShapeValue> evaluate_size(const Shape& shape) {
  const std::int64_t elements = shape.with_batch(1).elements();
  if (!shape.is_symbolic()) return ShapeValue{.shape = Shape{}, .elements = {{.integer = elements}}};
  if (elements < 1) return unknown("the batch times 0");
  return ShapeValue{.shape = Shape{}, .elements = {{.batches = elements}}};
}

}  // namespace

bool ShapeValue::has_batch() const {
  return std::any_of(elements.begin(), elements.end(), [](const Element& element) { return element.is_batch(); });
}

bool ShapeValue::is_zero() const {
  return std::all_of(elements.begin(), elements.end(), [](const Element& element) {
    return !element.is_batch() && element.integer == 0 && element.real == 0;
  });
}

ShapeValue shape_value_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) { return read_elements<decltype(zero)>(tensor); });
}

Tensor tensor_of(const ShapeValue& value) {
  return with_type(value.dtype, [&](auto zero) { return write_elements<decltype(zero)>(value); });
}

bool is_shape_operator(std::string_view op) {
  return op == "Shape" || op == "Size" || find_row(op) != nullptr;
}

Result<ShapeValue> evaluate_shape_node(const Node& node, std::span<const ShapeValue* const> inputs,
                                       std::span<const ValueInfo* const> infos) {
  if (node.outputs.size() != 1) return unknown("it has several outputs");
  if (node.op == "Shape" || node.op == "Size") {
    if (infos.size() != 1 || infos[0] == nullptr) return unknown("it has no input");
    return node.op == "Shape" ? evaluate_shape(node, infos[0]->shape) : evaluate_size(infos[0]->shape);
  }
  const Row* row = find_row(node.op);
  if (row == nullptr) return unknown("no shapes are computed with it");
  if (inputs.size() < row->min_inputs || inputs.size() > row->max_inputs) return unknown("its number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && (i < row->min_inputs || !node.inputs[i].empty())) return unknown("an input");
  }
  return row->evaluate(node, inputs);
}

}  // namespace mangrove
