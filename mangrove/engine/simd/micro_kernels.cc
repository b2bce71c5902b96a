#include "mangrove/engine/simd/micro_kernels.h"

#include <algorithm>

// This file is compiled once for each set of instructions that a processor may have; the best one is chosen when the
// program runs. Those with AVX-512 have oneDNN.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mangrove/engine/simd/micro_kernels.cc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>
// behind the others
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace mangrove::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of a fixed size, so that arrays of vectors are allowed.
using Floats = hn::FixedTag<float, HWY_LANES(float)>;
using Vector = hn::Vec<Floats>;
constexpr Floats kFloats;
constexpr std::int64_t kLanes = HWY_LANES(float);
static_assert(kLanes <= kMaxLanes);

// As many sums as fit into the registers beside the factors: of 32 on Arm, of 16 on x86.
#if HWY_ARCH_ARM_A64
constexpr int kRows = 6, kVectors = 3, kDotRows = 4, kDotColumns = 4;
#else
constexpr int kRows = 6, kVectors = 2, kDotRows = 4, kDotColumns = 3;
#endif
static_assert(kRows <= MicroKernels::kMaxRows && kVectors * kLanes <= MicroKernels::kMaxColumns &&
              kDotRows <= MicroKernels::kMaxDotRows && kDotColumns <= MicroKernels::kMaxDotColumns);

template <int rows>
void multiply(std::int64_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT y,
              std::int64_t stride, bool adds) {
  Vector sums[rows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = adds ? hn::LoadU(kFloats, y + r * stride + v * kLanes) : hn::Zero(kFloats);
    }
  }
  for (; depth > 0; --depth, a += rows, b += kVectors * kLanes) {
    Vector factors[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(kFloats, b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vector factor = hn::Set(kFloats, a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, factors[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], kFloats, y + r * stride + v * kLanes);
  }
}

template <int rows, int columns>
void dot(std::int64_t length, float scale, const float* HWY_RESTRICT a, std::int64_t a_stride,
         const float* HWY_RESTRICT b, std::int64_t b_stride, float* HWY_RESTRICT y, std::int64_t y_stride) {
  Vector sums[rows][columns];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) sums[r][c] = hn::Zero(kFloats);
  }
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    Vector factors[columns];
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) factors[c] = hn::LoadU(kFloats, b + c * b_stride + i);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vector factor = hn::LoadU(kFloats, a + r * a_stride + i);
#pragma GCC unroll 8
      for (int c = 0; c < columns; ++c) sums[r][c] = hn::MulAdd(factor, factors[c], sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) {
      float sum = hn::GetLane(hn::SumOfLanes(kFloats, sums[r][c]));
      for (std::int64_t k = i; k < length; ++k) sum += a[r * a_stride + k] * b[c * b_stride + k];
      y[r * y_stride + c] += scale * sum;
    }
  }
}

// ---- depthwise

/// Vectors next to each other, so that the processor has several sums to work on at once.
template <int vectors, std::int64_t known_taps>
void filter_vectors(const DepthwiseRows& source, std::int64_t row, std::int64_t column,
                    const float* HWY_RESTRICT weights, float start, Vector* sums) {
  const std::int64_t taps = known_taps > 0 ? known_taps : source.taps;
  const std::int64_t at = row * source.row + column;
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) sums[v] = hn::Set(kFloats, start);
#pragma GCC unroll 9
  for (std::int64_t t = 0; t < taps; ++t) {
    const Vector weight = hn::Set(kFloats, weights[t]);
    const float* from = source.starts[t] + at;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[v] = hn::MulAdd(weight, hn::LoadU(kFloats, from + v * kLanes), sums[v]);
  }
}

template <std::int64_t known_taps>
void filter_rows(const DepthwiseRows& source, const float* HWY_RESTRICT weights, float start, bool adds,
                 float* HWY_RESTRICT y, std::int64_t stride) {
  constexpr int kSide = 4;
  for (std::int64_t row = 0; row < source.rows; ++row, y += stride) {
    std::int64_t column = 0;
    for (; column + kSide * kLanes <= source.columns; column += kSide * kLanes) {
      Vector sums[kSide];
      filter_vectors<kSide, known_taps>(source, row, column, weights, start, sums);
#pragma GCC unroll 4
      for (int v = 0; v < kSide; ++v) {
        float* to = y + column + v * kLanes;
        hn::StoreU(adds ? hn::Add(sums[v], hn::LoadU(kFloats, to)) : sums[v], kFloats, to);
      }
    }
    for (; column < source.columns; column += kLanes) {
      Vector sum[1];
      filter_vectors<1, known_taps>(source, row, column, weights, start, sum);
      float* to = y + column;
      if (column + kLanes <= source.columns) {
        hn::StoreU(adds ? hn::Add(sum[0], hn::LoadU(kFloats, to)) : sum[0], kFloats, to);
        continue;
      }
      HWY_ALIGN float rest[kLanes];
      hn::Store(sum[0], kFloats, rest);
      for (std::int64_t i = 0; column + i < source.columns; ++i) to[i] = adds ? to[i] + rest[i] : rest[i];
    }
  }
}

void filter(const DepthwiseRows& source, const float* weights, float start, bool adds, float* y, std::int64_t stride) {
  if (source.taps == kTapsInRegisters) return filter_rows<kTapsInRegisters>(source, weights, start, adds, y, stride);
  filter_rows<0>(source, weights, start, adds, y, stride);
}

template <std::int64_t taps>
void correlate_taps(const DepthwiseRows& source, const float* const* starts, const float* HWY_RESTRICT y,
                    std::int64_t stride, float* HWY_RESTRICT sums) {
  Vector vectors[taps];
#pragma GCC unroll 9
  for (std::int64_t t = 0; t < taps; ++t) vectors[t] = hn::Zero(kFloats);
  for (std::int64_t row = 0; row < source.rows; ++row) {
    for (std::int64_t column = 0; column < source.columns; column += kLanes) {
      const Vector factor = hn::LoadU(kFloats, y + row * stride + column);
#pragma GCC unroll 9
      for (std::int64_t t = 0; t < taps; ++t) {
        vectors[t] = hn::MulAdd(factor, hn::LoadU(kFloats, starts[t] + row * source.row + column), vectors[t]);
      }
    }
  }
#pragma GCC unroll 9
  for (std::int64_t t = 0; t < taps; ++t) sums[t] += hn::GetLane(hn::SumOfLanes(kFloats, vectors[t]));
}

void correlate(const DepthwiseRows& source, const float* y, std::int64_t stride, float* sums) {
  std::int64_t t = 0;
  for (; t + kTapsInRegisters <= source.taps; t += kTapsInRegisters) {
    correlate_taps<kTapsInRegisters>(source, source.starts + t, y, stride, sums + t);
  }
  for (; t < source.taps; ++t) correlate_taps<1>(source, source.starts + t, y, stride, sums + t);
}

// ---- after the sums

void finish(std::int64_t count, float bias, const float* HWY_RESTRICT residual, float low, float high,
            float* HWY_RESTRICT y) {
  const Vector least = hn::Set(kFloats, low), most = hn::Set(kFloats, high), addend = hn::Set(kFloats, bias);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector value = hn::Add(hn::LoadU(kFloats, y + i), addend);
    if (residual != nullptr) value = hn::Add(value, hn::LoadU(kFloats, residual + i));
    value = hn::IfThenElse(hn::Lt(value, least), least, value);  // unlike Max and Min, this keeps NaN everywhere
    hn::StoreU(hn::IfThenElse(hn::Gt(value, most), most, value), kFloats, y + i);
  }
  for (; i < count; ++i) {
    float value = y[i] + bias + (residual != nullptr ? residual[i] : 0.0f);
    if (value < low) value = low;
    y[i] = value > high ? high : value;
  }
}

// ---- activations

/// y[i] = f(x[i]), and NaN where x[i] is, which Highway's functions do not promise; y may be x.
template <class Function>
void map(std::int64_t count, const float* x, float* y, const Function& f) {
  const auto keep_nan = [&](Vector v) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(v), v, f(v)); };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(keep_nan(hn::LoadU(kFloats, x + i)), kFloats, y + i);
  if (i == count) return;
  float last[kLanes] = {};
  std::copy(x + i, x + count, last);
  hn::StoreU(keep_nan(hn::LoadU(kFloats, last)), kFloats, last);
  std::copy_n(last, count - i, y + i);
}

void sigmoid(std::int64_t count, const float* x, float* y) {
  const Vector one = hn::Set(kFloats, 1.0f), most = hn::Set(kFloats, 87.0f);  // whose exponential is a float
  map(count, x, y, [&](Vector v) HWY_ATTR {
    const Vector exponent = hn::Clamp(hn::Neg(v), hn::Neg(most), most);
    return hn::Div(one, hn::Add(one, hn::Exp(kFloats, exponent)));
  });
}

void tanh(std::int64_t count, const float* x, float* y) {
  map(count, x, y, [](Vector v) HWY_ATTR { return hn::Tanh(kFloats, v); });
}

template <int... rows>
constexpr void set_multiply(MicroKernels& made, std::integer_sequence<int, rows...>) {
  ((made.multiply[rows] = multiply<rows + 1>), ...);
}
template <int rows, int... columns>
constexpr void set_dot_row(MicroKernels& made, std::integer_sequence<int, columns...>) {
  ((made.dot[rows][columns] = dot<rows + 1, columns + 1>), ...);
}
template <int... rows>
constexpr void set_dot(MicroKernels& made, std::integer_sequence<int, rows...>) {
  (set_dot_row<rows>(made, std::make_integer_sequence<int, kDotColumns>()), ...);
}

MicroKernels make_micro_kernels() {
  MicroKernels made{.rows = kRows,
                    .columns = static_cast<int>(kVectors * kLanes),
                    .dot_rows = kDotRows,
                    .dot_columns = kDotColumns,
                    .multiply = {},
                    .dot = {},
                    .filter = filter,
                    .correlate = correlate,
                    .finish = finish,
                    .sigmoid = sigmoid,
                    .tanh = tanh};
  set_multiply(made, std::make_integer_sequence<int, kRows>());
  set_dot(made, std::make_integer_sequence<int, kDotRows>());
  return made;
}

}  // namespace HWY_NAMESPACE
}  // namespace mangrove::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mangrove::simd {

HWY_EXPORT(make_micro_kernels);

const MicroKernels& micro_kernels() {
  static const MicroKernels made = HWY_DYNAMIC_DISPATCH(make_micro_kernels)();
  return made;
}

}  // namespace mangrove::simd
#endif
