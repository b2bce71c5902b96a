#include "mangrove/graph/matmul_geometry.h"

#include <vector>

#include "mangrove/graph/broadcast.h"

namespace mangrove {
namespace {

Shape without_last(const Shape& shape, std::size_t count) {
  if (shape.rank() <= count) return {};
  return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count)));
}

}  // namespace

Result<MatMulGeometry> matmul_geometry(const Shape& a, const Shape& b) {
  const std::string both = to_string(a) + " x " + to_string(b);
  if (a.rank() == 0 || b.rank() == 0) return make_error(Code::invalid_argument, "expected matrices, found " + both);
  const bool is_row = a.rank() == 1, is_column = b.rank() == 1;
  MatMulGeometry geometry;
  geometry.k = a[a.rank() - 1];
  const std::int64_t inner_b = is_column ? b[0] : b[b.rank() - 2];
  if (geometry.k != inner_b) return make_error(Code::invalid_argument, "inner dimensions differ: " + both);
  if (geometry.k < 0) return make_error(Code::unimplemented, "the batch would be summed over: " + both);
  geometry.m = is_row ? 1 : a[a.rank() - 2];
  geometry.n = is_column ? 1 : b[b.rank() - 1];
  geometry.stack_a = without_last(a, 2);
  geometry.stack_b = without_last(b, 2);
  MG_TRY(geometry.stack, broadcast(geometry.stack_a, geometry.stack_b).context("stacks of matrices " + both));
  std::vector<std::int64_t> output = geometry.stack.dims();
  if (!is_row) output.push_back(geometry.m);
  if (!is_column) output.push_back(geometry.n);
  geometry.output = Shape(std::move(output));
  return geometry;
}

MatMulGeometry with_tall_a(MatMulGeometry geometry) {
  if (geometry.stack_b.elements() != 1 || geometry.stack_a != geometry.stack) return geometry;
  geometry.m *= geometry.stack.elements();
  geometry.stack_a = geometry.stack_b = geometry.stack = Shape();
  return geometry;
}

std::vector<std::int64_t> matrices_met(const Shape& input, const Shape& output) {
  std::vector<std::int64_t> met(static_cast<std::size_t>(output.elements()), 0);
  for (std::size_t i = 0; i < met.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), stride = 1;
    for (std::size_t d = output.rank(); d-- > 0; rest /= output[d]) {
      if (d + input.rank() < output.rank()) break;  // the input has no such dimension
      const std::int64_t size = input[d + input.rank() - output.rank()];
      if (size != 1) met[i] += rest % output[d] * stride;
      stride *= size;
    }
  }
  return met;
}

}  // namespace mangrove
