#pragma once

#include <array>
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

struct MicroKernels {
  static constexpr int kMaxRows = 6, kMaxColumns = 3 * kMaxLanes, kMaxDotRows = 4, kMaxDotColumns = 4;

  int rows, columns;          // of the tile of a product whose sums stay in registers
  int dot_rows, dot_columns;  // the same where both factors are rows

  /// y[rows, columns] = a b, or += where `adds`. a: packed [depth, rows], b: packed [depth, columns]; the rows of y are
  /// `stride` elements apart.
  using Multiply = void (*)(std::int64_t depth, const float* a, const float* b, float* y, std::int64_t stride,
                            bool adds);
  std::array<Multiply, kMaxRows> multiply;  // [rows - 1]

  /// y[i, j] += scale * (row i of a) . (row j of b), of `length` elements each. Strides: from row to row.
  using Dot = void (*)(std::int64_t length, float scale, const float* a, std::int64_t a_stride, const float* b,
                       std::int64_t b_stride, float* y, std::int64_t y_stride);
  std::array<std::array<Dot, kMaxDotColumns>, kMaxDotRows> dot;  // [rows - 1][columns - 1]

  /// y[i, j] = start + sum over t of weights[t] * tap t, or += where `adds`; the rows of y are `stride` apart.
  void (*filter)(const DepthwiseRows& source, const float* weights, float start, bool adds, float* y,
                 std::int64_t stride);
  /// sums[t] += sum over positions of y[i, j] * tap t. Rows of y are `stride` apart; behind each are zeros, up to a
  /// multiple of kMaxLanes.
  void (*correlate)(const DepthwiseRows& source, const float* y, std::int64_t stride, float* sums);

  /// y[i] = min(max(y[i] + bias + residual[i], low), high); residual may be null.
  void (*finish)(std::int64_t count, float bias, const float* residual, float low, float high, float* y);

  /// y[i] = 1 / (1 + exp(-x[i])), and y[i] = tanh(x[i]); y may be x.
  void (*sigmoid)(std::int64_t count, const float* x, float* y);
  void (*tanh)(std::int64_t count, const float* x, float* y);
};

/// Returns the loops in the best instructions that this processor has.
const MicroKernels& micro_kernels();

}  // namespace mangrove::simd
