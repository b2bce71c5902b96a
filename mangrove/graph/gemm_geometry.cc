#include "mangrove/graph/gemm_geometry.h"

namespace mangrove {

Result<GemmGeometry> gemm_geometry(const Node& node, const Shape& a, const Shape& b) {
  const std::string both = to_string(a) + " x " + to_string(b);
  if (a.rank() != 2 || b.rank() != 2) return make_error(Code::unimplemented, "expected two matrices, found " + both);
  GemmGeometry geometry;
  geometry.transpose_a = node.int_or("transA", 0) != 0;
  geometry.transpose_b = node.int_or("transB", 0) != 0;
  geometry.alpha = node.float_or("alpha", 1);
  geometry.beta = node.float_or("beta", 1);
  const std::size_t inner_a = geometry.transpose_a ? 0 : 1;
  if (b.is_symbolic() || a.symbolic_axis() == inner_a) {
    return make_error(Code::unimplemented, "the batch must be the rows of the result, found " + both);
  }
  const std::size_t inner_b = geometry.transpose_b ? 1 : 0;
  if (a[inner_a] != b[inner_b]) {
    return make_error(Code::invalid_argument, "inner dimensions differ: " + both +
                                                  (geometry.transpose_a ? ", A transposed" : "") +
                                                  (geometry.transpose_b ? ", B transposed" : ""));
  }
  geometry.m = a[1 - inner_a];
  geometry.k = a[inner_a];
  geometry.n = b[1 - inner_b];
  return geometry;
}

}  // namespace mangrove
