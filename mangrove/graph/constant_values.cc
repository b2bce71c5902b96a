#include "mangrove/graph/constant_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

constexpr double kMostRange = 1 << 24;

template <class T>
Tensor vector_of(const std::vector<T>& elements) {
  return Tensor::of<T>(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

template <class T>
Result<Tensor> range_of(std::span<const Tensor* const> inputs) {
  const T start = inputs[0]->as<T>()[0], limit = inputs[1]->as<T>()[0], delta = inputs[2]->as<T>()[0];
  const double count =
      std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  if (delta == T(0) || !(count <= kMostRange)) {
    return make_error(Code::invalid_argument, "range from " + std::to_string(start) + " to " + std::to_string(limit) +
                                                  " by " + std::to_string(delta) + " has no end or too many values");
  }
  std::vector<T> values(static_cast<std::size_t>(std::max(count, 0.0)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<T>(i) * delta;
  return vector_of(values);
}

}  // namespace

Result<Tensor> constant_value(const Node& node) {
  if (node.attributes.size() != 1) {
    return make_error(Code::invalid_argument,
                      "has " + std::to_string(node.attributes.size()) + " attributes, expected exactly one value");
  }
  const Attribute& value = node.attributes.begin()->second;
  if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  if (const auto* real = std::get_if<float>(&value)) return Tensor::of<float>(Shape{}, {*real});
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Tensor::of<std::int64_t>(Shape{}, {*integer});
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) return vector_of(*reals);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return vector_of(*integers);
  return make_error(Code::unimplemented,
                    "attribute '" + node.attributes.begin()->first + "' holds strings, which are not supported");
}

Result<Tensor> fill_value(const Node& node) {
  const auto found = node.attributes.find("value");
  if (found == node.attributes.end()) return Tensor::of<float>(Shape{1}, {0.0f});
  const Tensor& value = std::get<Tensor>(found->second);
  if (value.elements() == 1) return value;
  return make_error(Code::invalid_argument,
                    "attribute value has shape " + to_string(value.shape()) + ", expected one element");
}

Result<Shape> constant_shape(const Tensor* constant, const std::string& what) {
  if (constant == nullptr) return make_error(Code::unimplemented, what + " must be a constant");
  if (constant->dtype() != DType::i64 || constant->shape().rank() != 1) {
    return make_error(Code::invalid_argument, what + " is " + dtype_name(constant->dtype()) + " " +
                                                  to_string(constant->shape()) + ", expected an i64 vector");
  }
  const auto sizes = constant->as<std::int64_t>();
  Shape shape(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
  for (const std::int64_t size : sizes) {
    if (size >= -kMostBatches) continue;
    return make_error(Code::invalid_argument,
                      what + " is " + to_string(shape) + ", expected sizes, or -k for k times the batch");
  }
  return shape;
}

std::pair<std::size_t, std::size_t> shape_range(const Node& node, const Shape& input) {
  const auto rank = static_cast<std::int64_t>(input.rank());
  const auto position = [&](const char* key, std::int64_t fallback) {
    const std::int64_t given = node.int_or(key, fallback);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t first = position("start", 0), last = position("end", rank);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(std::max(first, last))};
}

Result<DType> eye_dtype(const Node& node, DType input) {
  const std::int64_t given = node.int_or("dtype", encode_dtype(input));
  if (given < 0 || given > std::numeric_limits<std::int32_t>::max())
    return make_error(Code::invalid_argument, "attribute dtype is " + std::to_string(given));
  if (is_sixteen_bit_float(given)) return make_error(Code::unimplemented, "attribute dtype is a float of 16 bits");
  return decode_dtype(static_cast<std::int32_t>(given)).context("attribute dtype");
}

namespace {

/// Of the first `most`.
template <class T>
std::vector<std::int64_t> offsets_of_non_zeros(const Tensor& tensor, std::size_t most) {
  const auto elements = tensor.as<T>();
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < elements.size() && offsets.size() < most; ++i) {
    if (elements[i] != T(0)) offsets.push_back(static_cast<std::int64_t>(i));
  }
  return offsets;
}

std::vector<std::int64_t> offsets_of_non_zeros(const Tensor& tensor, std::size_t most) {
  switch (tensor.dtype()) {
    case DType::f32:
      return offsets_of_non_zeros<float>(tensor, most);
    case DType::f64:
      return offsets_of_non_zeros<double>(tensor, most);
    case DType::i32:
      return offsets_of_non_zeros<std::int32_t>(tensor, most);
    case DType::i64:
      return offsets_of_non_zeros<std::int64_t>(tensor, most);
    case DType::u8:
      return offsets_of_non_zeros<std::uint8_t>(tensor, most);
    case DType::i8:
      return offsets_of_non_zeros<std::int8_t>(tensor, most);
    case DType::boolean:
      return offsets_of_non_zeros<bool>(tensor, most);
  }
  return {};
}

// The first element of a tensor that has one.
double first_as_real(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return static_cast<double>(tensor.as<float>()[0]);
    case DType::f64:
      return tensor.as<double>()[0];
    case DType::i32:
      return tensor.as<std::int32_t>()[0];
    case DType::i64:
      return static_cast<double>(tensor.as<std::int64_t>()[0]);
    case DType::u8:
      return tensor.as<std::uint8_t>()[0];
    case DType::i8:
      return tensor.as<std::int8_t>()[0];
    case DType::boolean:
      return tensor.as<bool>()[0] ? 1 : 0;
  }
  return 0;
}

}  // namespace

Result<std::int64_t> one_hot_depth(const Tensor& constant) {
  const double depth = first_as_real(constant);
  if (depth >= 1 && depth <= std::numeric_limits<std::int32_t>::max()) return static_cast<std::int64_t>(depth);
  return make_error(Code::invalid_argument,
                    "depth (input 1) is " + std::to_string(depth) + ", expected at least 1 and less than 2^31");
}

Result<Tensor> non_zero_positions(const Tensor* constant) {
  if (constant == nullptr) {
    return make_error(Code::unimplemented,
                      "the data (input 0) must be a constant: how many results there are depends on it");
  }
  const Shape& shape = constant->shape();
  const std::size_t most = static_cast<std::size_t>(kMostRange) / std::max<std::size_t>(shape.rank(), 1);
  const std::vector<std::int64_t> offsets = offsets_of_non_zeros(*constant, most + 1);
  if (offsets.size() > most) {
    return make_error(Code::unimplemented, "the data (input 0) of shape " + to_string(shape) + " has more than " +
                                               std::to_string(most) + " elements that are not 0");
  }
  const auto count = static_cast<std::int64_t>(offsets.size());
  std::vector<std::int64_t> positions;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t stride = shape.elements(axis + 1, shape.rank());
    for (const std::int64_t offset : offsets) positions.push_back(offset / stride % shape[axis]);
  }
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(shape.rank()), count}, positions);
}

Result<Tensor> range_values(std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs) {
    if (input == nullptr) return make_error(Code::unimplemented, "start, limit and delta must be constants");
    if (input->elements() != 1 || input->dtype() != inputs[0]->dtype()) {
      return make_error(Code::invalid_argument, "start, limit and delta must be scalars of one type");
    }
  }
  switch (inputs[0]->dtype()) {
    case DType::f32:
      return range_of<float>(inputs);
    case DType::f64:
      return range_of<double>(inputs);
    case DType::i32:
      return range_of<std::int32_t>(inputs);
    case DType::i64:
      return range_of<std::int64_t>(inputs);
    default:
      return make_error(Code::unimplemented, std::string("a range of ") + dtype_name(inputs[0]->dtype()) +
                                                 " is not supported, only of f32, f64, i32 and i64");
  }
}

}  // namespace mangrove
