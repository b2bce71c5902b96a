#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The innermost loops, called micro-kernels in BLAS libraries, in the vector instructions of the processor that the
/// program runs on. Elements are f32. They may be called from any thread.
namespace mangrove::simd {

/// Taps of a filter whose weights stay in vector registers; with more, they are read again and again.
constexpr std::int64_t kTapsInRegisters = 9;

/// One channel of a depthwise convolution: tap t of position (i, j) reads starts[t][i * row + j].
struct DepthwiseRows {
  std::int64_t taps;
  const float* const* starts;  // of each tap, at position (0, 0)
  std::int64_t row;            // elements from one row of positions to the next, the same in every tap
  std::int64_t rows, columns;  // positions; at most kMaxLanes elements behind the last column are read too
};

/// Vectors have at most so many elements.
constexpr std::int64_t kMaxLanes = 16;

/// Elements of a plane: `columns` of each row, `step` apart.
struct PlaneRows {
  const float* start;
  std::int64_t rows, columns;
  std::int64_t stride;  // from row to row
  std::int64_t step = 1;
};

struct MicroKernels {
  static constexpr int kMaxRows = 6, kMaxVectors = 3, kMaxColumns = kMaxVectors * kMaxLanes, kMaxDotRows = 4,
                       kMaxDotColumns = 4;
  static constexpr std::size_t kMaxResults = std::size_t{kMaxRows} * kMaxColumns;  // of a tile

  int lanes;                  // elements of a vector
  int rows, columns;          // of the tile of a product whose sums stay in registers
  int dot_rows, dot_columns;  // the same where both factors are rows

  /// y[rows, columns] = a b, or += where `adds`. a: packed [depth, rows], b: packed [depth, columns]; the rows of y are
  /// `stride` elements apart.
  using Multiply = void (*)(std::int64_t depth, const float* a, const float* b, float* y, std::int64_t stride,
                            bool adds);
  std::array<Multiply, kMaxRows> multiply;  // [rows - 1]

  /// Computes the same product with vectors of b that lie anywhere: vector v of row k lies at pieces[v] + offsets[k].
  /// Vector v of the first row of the result lies at y[v].
  using MultiplyIndirect = void (*)(std::int64_t depth, const float* a, const float* const* pieces,
                                    const std::int64_t* offsets, float* const* y, std::int64_t stride, bool adds);
  std::array<MultiplyIndirect, kMaxRows> multiply_indirect;  // [rows - 1]

  /// y[i, j] += scale * (row i of a) . (row j of b), of `length` elements each. Strides: from row to row.
  using Dot = void (*)(std::int64_t length, float scale, const float* a, std::int64_t a_stride, const float* b,
                       std::int64_t b_stride, float* y, std::int64_t y_stride);
  std::array<std::array<Dot, kMaxDotColumns>, kMaxDotRows> dot;  // [rows - 1][columns - 1]

  /// y[i, j] += (row i of a) . (row j of b), whose vectors lie anywhere: vector v of row i at a + i * a_stride +
  /// of_a[v], of row j at b[j] + of_b[v].
  using DotIndirect = void (*)(std::int64_t vectors, const float* a, std::int64_t a_stride, const std::int64_t* of_a,
                               const float* const* b, const std::int64_t* of_b, float* y, std::int64_t y_stride);
  std::array<std::array<DotIndirect, kMaxDotColumns>, kMaxDotRows> dot_indirect;  // [rows - 1][columns - 1]

  /// y[i, j] = start + sum over t of weights[t] * tap t, or += where `adds`; the rows of y are `stride` apart.
  void (*filter)(const DepthwiseRows& source, const float* weights, float start, bool adds, float* y,
                 std::int64_t stride);
  /// sums[t] += sum over positions of y[i, j] * tap t. Rows of y are `stride` apart; behind each are zeros, up to a
  /// multiple of kMaxLanes.
  void (*correlate)(const DepthwiseRows& source, const float* y, std::int64_t stride, float* sums);

  /// Copies rows to where they lie `stride` apart and their elements next to each other.
  void (*copy)(const PlaneRows& from, float* to, std::int64_t stride);

  /// y[i] = min(max(y[i] + bias + residual[i], low), high); residual may be null.
  void (*finish)(std::int64_t count, float bias, const float* residual, float low, float high, float* y);

  /// y[i] = 1 / (1 + exp(-x[i])), and y[i] = tanh(x[i]); y may be x.
  void (*sigmoid)(std::int64_t count, const float* x, float* y);
  void (*tanh)(std::int64_t count, const float* x, float* y);
};

/// Returns the loops in the best instructions that this processor has.
const MicroKernels& micro_kernels();

}  // namespace mangrove::simd
