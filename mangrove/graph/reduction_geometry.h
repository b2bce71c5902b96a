#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// What a reduction (ReduceMean, ReduceSum, ReduceMax ...) takes together.
struct ReductionGeometry {
  Shape kept;    // the input's shape with 1 at every reduced dimension; broadcasts to the input
  Shape output;  // the same with these dimensions left out, unless keepdims
};

/// From the attributes keepdims, noop_with_empty_axes and axes, the last of which ReduceSum takes as input 1 (null: not
/// there, or not constant).
/// errors: invalid_argument (an axis outside the shape, or twice).
Result<ReductionGeometry> reduction_geometry(const Node& node, const Shape& input, const Tensor* axes);

/// The axis of a CumSum over `input`: the one element of a constant of type i32 or i64.
/// errors: invalid_argument (another type, an axis outside the shape).
Result<std::size_t> cumulative_axis(const Tensor* axis, const Shape& input);

}  // namespace mangrove
