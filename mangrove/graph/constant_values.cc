#include "mangrove/graph/constant_values.h"

#include <algorithm>
#include <cmath>
#include <vector>

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
