#include "mangrove/engine/simd/matrix_product.h"

#include <numeric>

#include "mangrove/engine/simd/blocked_product.h"

namespace mangrove::simd {
namespace {

using portable::Matrix;

struct MatrixFactors {
  const Matrix<float>& a;
  const Matrix<float>& b;
  float alpha;
  float* y;
  std::int64_t y_stride;

  const float* rows(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth, float* scratch) const {
    const Matrix<float> from = a.from(row, k);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t p = 0; p < depth; ++p) scratch[p * rows + r] = alpha * from.at(r, p);
    }
    return scratch;
  }
  void pack_panel(std::int64_t column, std::int64_t columns, std::int64_t k, std::int64_t depth, float* packed) const {
    const std::int64_t width = micro_kernels().columns;
    const Matrix<float> from = b.from(k, column);
    if (columns < width) std::fill_n(packed, depth * width, 0.0f);
    if (from.column_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p) {
        std::copy_n(from.data + p * from.row_stride, columns, packed + p * width);
      }
    } else {
      for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t p = 0; p < depth; ++p) packed[p * width + c] = from.at(p, c);
      }
    }
  }
  float* row(std::int64_t row) const { return y + row * y_stride; }
  void offsets(std::int64_t column, std::span<std::int64_t> to) const { std::iota(to.begin(), to.end(), column); }
  bool adds() const { return true; }
  void finish(std::int64_t, std::int64_t, std::int64_t) const {}
};

/// Both factors are read along the sum: rows of a times rows of b's transpose, none of them copied.
void multiply_rows(int threads, const ProductSize& size, float alpha, const Matrix<float>& a, const Matrix<float>& b,
                   float* y, std::int64_t y_stride) {
  const std::int64_t step = micro_kernels().dot_columns;
  in_parallel(ceil_div(size.n, step), threads, [&](std::int64_t i) {
    const std::int64_t column = i * step;
    add_dot_products({size.m, std::min(step, size.n - column), size.k}, alpha, a.data, a.row_stride,
                     b.data + column * b.column_stride, b.column_stride, y + column, y_stride);
  });
}

}  // namespace

void multiply_add(int threads, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix<float>& a,
                  const Matrix<float>& b, float* y, std::int64_t y_stride) {
  constexpr std::int64_t kLeast = 1 << 16;  // fewer multiply-adds are not worth a thread
  const ProductSize size{m, n, k};
  if (m * n * k < kLeast) threads = 1;
  if (a.column_stride == 1 && b.row_stride == 1) return multiply_rows(threads, size, alpha, a, b, y, y_stride);
  multiply_blocks(MatrixFactors{a, b, alpha, y, y_stride}, size, y_stride, threads);
}

portable::Product<float> product_on(int threads) {
  return [threads](std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const Matrix<float>& a,
                   const Matrix<float>& b, float* y,
                   std::int64_t y_stride) { multiply_add(threads, m, n, k, alpha, a, b, y, y_stride); };
}

}  // namespace mangrove::simd
