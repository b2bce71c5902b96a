#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// A MatMul resolved against its shapes, as numpy multiplies: matrices [m, k] and [k, n] in stacks that broadcast; an
/// input of rank 1 is a row (A) or a column (B), which the result then has not.
struct MatMulGeometry {
  std::int64_t m = 1, k = 1, n = 1;  // one of m and n may be symbolic
  Shape stack_a, stack_b, stack;     // of matrices: A's, B's, the result's; one dimension may be symbolic
  Shape output;
};

/// errors: invalid_argument (inner dimensions differ, stacks do not broadcast, a scalar), unimplemented (the batch
/// would be summed over).
Result<MatMulGeometry> matmul_geometry(const Shape& a, const Shape& b);

/// A matrix that meets a stack of matrices is like one tall matrix: moves the stack into m where B has none.
/// Every dimension must be bound.
MatMulGeometry with_tall_a(MatMulGeometry geometry);

/// For each matrix of a stack `output`, which one of the stack `input`, broadcast to it, it comes from.
/// Every dimension must be bound.
std::vector<std::int64_t> matrices_met(const Shape& input, const Shape& output);

}  // namespace mangrove
