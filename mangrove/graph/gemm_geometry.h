#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A Gemm or MatMul node resolved against its shapes: Y[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C.
struct GemmGeometry {
  std::int64_t m = 1;  // negative where it is symbolic
  std::int64_t n = 1;
  std::int64_t k = 1;
  bool transpose_a = false;  // A is stored [k, m]
  bool transpose_b = false;  // B is stored [n, k]
  float alpha = 1;
  float beta = 1;
};

/// errors: invalid_argument (inner dimensions differ), unimplemented (not two matrices, symbolic batch not in m).
Result<GemmGeometry> gemm_geometry(const Node& node, const Shape& a, const Shape& b);

}  // namespace mangrove
