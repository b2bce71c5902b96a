#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

/// What the nodes compute that need no input at run time: Constant, ConstantOfShape, Shape, Range and
/// others.
namespace mangrove {

/// The value of a Constant node. errors: invalid_argument (not exactly one attribute).
Result<Tensor> constant_value(const Node& node);

/// The one element that ConstantOfShape fills with. errors: invalid_argument (another number of elements).
Result<Tensor> fill_value(const Node& node);

/// A shape given as a constant i64 vector; -k is k times the symbolic batch. `what`: "the shape (input 0)".
/// errors: unimplemented (null: not a constant), invalid_argument (no i64 vector, a size below -2^40).
Result<Shape> constant_shape(const Tensor* constant, const std::string& what);

/// The dimensions [first, last) of `input` that a Shape node gives.
std::pair<std::size_t, std::size_t> shape_range(const Node& node, const Shape& input);

/// The values of a Range node with these constant inputs: start, limit, delta, of one type.
/// errors: unimplemented (not constant, too many values), invalid_argument (types, no scalar, delta 0).
Result<Tensor> range_values(std::span<const Tensor* const> inputs);

/// The element type of an EyeLike node's result. errors: unimplemented (a type that Tensor lacks).
Result<DType> eye_dtype(const Node& node, DType input);

/// The depth of a OneHot node, given as a constant of one element of any type.
/// errors: invalid_argument (not in [1, 2^31)).
Result<std::int64_t> one_hot_depth(const Tensor& constant);

/// Where a constant is not zero: an i64 matrix with a row for each dimension and a column for each such element, in
/// their order. errors: unimplemented (null: not a constant).
Result<Tensor> non_zero_positions(const Tensor* constant);

}  // namespace mangrove
