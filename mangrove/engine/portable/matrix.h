#pragma once

#include <algorithm>
#include <cstdint>

#include "mangrove/engine/portable/vector_ops.h"

namespace mangrove::portable {

/// A matrix read through strides, so that a transpose costs nothing to write. One of the strides is 1.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;

  T at(std::int64_t row, std::int64_t column) const { return data[row * row_stride + column * column_stride]; }
  Matrix from(std::int64_t row, std::int64_t column) const {
    return {data + row * row_stride + column * column_stride, row_stride, column_stride};
  }
  Matrix transposed() const { return {data, column_stride, row_stride}; }
};

/// op(A) as [rows, columns], stored [columns, rows] if transposed.
template <class T>
Matrix<T> matrix(const T* data, std::int64_t rows, std::int64_t columns, bool transposed = false) {
  return transposed ? Matrix<T>{data, 1, rows} : Matrix<T>{data, columns, 1};
}

/// The blocked product. Blocks of B [kDepth, kWidth] are copied into panels of kColumns columns, which stay in the
/// second-level cache while rows of A pass in groups of kRows; the sums of a tile lie in vector registers. (Goto and
/// van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008)
namespace blocked {

constexpr std::int64_t kRows = 4, kColumns = 8, kDepth = 128, kWidth = 64;

template <class T>
void pack_panels(const Matrix<T>& b, std::int64_t depth, std::int64_t width, T* packed) {
  for (std::int64_t j = 0; j < width; j += kColumns) {
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t l = 0; l < kColumns; ++l) *packed++ = j + l < width ? b.at(p, j + l) : T(0);
    }
  }
}

template <class T>
void pack_rows(const Matrix<T>& a, std::int64_t rows, std::int64_t depth, T alpha, T* packed) {
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t r = 0; r < kRows; ++r) *packed++ = r < rows ? alpha * a.at(r, p) : T(0);
  }
}

/// y[rows, columns] += a b for packed a [depth, kRows] and b [depth, kColumns].
template <class T>
void multiply_tile(std::int64_t depth, const T* a, const T* b, std::int64_t rows, std::int64_t columns, T* y,
                   std::int64_t y_stride) {
  T sums[kRows][kColumns] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t l = 0; l < kColumns; ++l) sums[r][l] += a[p * kRows + r] * b[p * kColumns + l];
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t l = 0; l < columns; ++l) y[r * y_stride + l] += sums[r][l];
  }
}

template <class T>
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& a, const Matrix<T>& b, T* y,
                  std::int64_t y_stride) {
  alignas(64) T panels[kDepth * kWidth];
  alignas(64) T rows[kDepth * kRows];
  for (std::int64_t j = 0; j < n; j += kWidth) {
    const std::int64_t width = std::min(kWidth, n - j);
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      pack_panels(b.from(p, j), depth, width, panels);
      for (std::int64_t i = 0; i < m; i += kRows) {
        pack_rows(a.from(i, p), std::min(kRows, m - i), depth, alpha, rows);
        for (std::int64_t l = 0; l < width; l += kColumns) {
          multiply_tile(depth, rows, panels + l * depth, std::min(kRows, m - i), std::min(kColumns, width - l),
                        y + i * y_stride + j + l, y_stride);
        }
      }
    }
  }
}

}  // namespace blocked

/// y[m, n] += alpha a[m, k] b[k, n]; the rows of y are y_stride apart. T: a number type.
template <class T>
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T* y,
                  std::int64_t y_stride) {
  if (m >= blocked::kRows) return blocked::multiply_add(m, n, k, alpha, a, b, y, y_stride);
  for (std::int64_t i = 0; i < m; ++i) {  // too few rows to make up for copying b
    const T* row = a.data + i * a.row_stride;
    if (b.column_stride == 1) {
      for (std::int64_t p = 0; p < k; ++p) {
        axpy(n, alpha * row[p * a.column_stride], b.data + p * b.row_stride, 1, y + i * y_stride);
      }
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        y[i * y_stride + j] += alpha * dot(k, row, a.column_stride, b.data + j * b.column_stride);
      }
    }
  }
}

/// The same into a dense y.
template <class T>
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T* y) {
  multiply_add(m, n, k, alpha, a, b, y, n);
}

}  // namespace mangrove::portable
