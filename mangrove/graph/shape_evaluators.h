#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/shape_values.h"

/// The operators that shapes are computed with, one row each; shape_values.cc looks them up.
namespace mangrove::shape_evaluators {

using Inputs = std::span<const ShapeValue* const>;

struct Row {
  std::string_view op;
  std::size_t min_inputs;
  std::size_t max_inputs;
  Result<ShapeValue> (*evaluate)(const Node& node, Inputs inputs);
};

std::span<const Row> arithmetic();  // shape_arithmetic.cc: Add, Div, Floor, Equal, Where, Cast ...
std::span<const Row> movement();    // shape_movement.cc: Gather, Concat, Slice, Reshape, Range ...

inline Error unknown(std::string why) {
  return make_error(Code::unimplemented, std::move(why));
}

/// Elements of a value with this shape: 1 where it is symbolic. errors: more than kMostShapeElements.
Result<std::size_t> elements_to_store(const Shape& shape);

/// A view of `source` copied: element [i, j, ...] of the result is number start + i strides[0] + j strides[1] + ... of
/// the source. The result's shape must not be symbolic and must not be too large.
ShapeValue strided(const ShapeValue& source, const Shape& shape, std::span<const std::int64_t> strides,
                   std::int64_t start = 0);
std::vector<std::int64_t> row_major_strides(const Shape& shape);
/// The source's strides to read it as if it had been broadcast to `shape`.
std::vector<std::int64_t> broadcast_strides(const Shape& source, const Shape& shape);

/// An attribute of a node that nobody has checked.
template <class T>
Result<T> attribute_or(const Node& node, const std::string& key, T fallback) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return fallback;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  return unknown("attribute '" + key + "' has the wrong kind");
}

/// An axis counted from the front. errors: it is none of [-rank, rank).
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// The elements of an integer vector or scalar, none of which has the batch.
Result<std::vector<std::int64_t>> integers_of(const ShapeValue& value);

}  // namespace mangrove::shape_evaluators
