#include "mangrove/engine/simd/micro_kernels.h"

#include <algorithm>

// This file is compiled once for each set of instructions that a processor may have; the best one is chosen when the
// program runs.
#include "mangrove/engine/simd/highway_targets.h"
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

/// Where the vectors of b lie: packed, or anywhere.
struct PackedPanel {
  const float* HWY_RESTRICT b;
  Vector load(int v) const { return hn::LoadU(kFloats, b + v * kLanes); }
  void next() { b += kVectors * kLanes; }
};
struct IndirectPieces {
  const float* starts[kVectors];
  const std::int64_t* HWY_RESTRICT offset;
  Vector load(int v) const { return hn::LoadU(kFloats, starts[v] + *offset); }
  void next() { ++offset; }
};

/// y[v]: of vector v of the first row.
template <int rows, class Panel>
HWY_INLINE void multiply_panel(std::int64_t depth, const float* HWY_RESTRICT a, Panel panel,
                               float* const (&y)[kVectors], std::int64_t stride, bool adds) {
  Vector sums[rows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = adds ? hn::LoadU(kFloats, y[v] + r * stride) : hn::Zero(kFloats);
    }
  }
  for (; depth > 0; --depth, a += rows, panel.next()) {
    Vector factors[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) factors[v] = panel.load(v);
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
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], kFloats, y[v] + r * stride);
  }
}

template <int rows>
void multiply(std::int64_t depth, const float* a, const float* b, float* y, std::int64_t stride, bool adds) {
  float* to[kVectors];
  for (int v = 0; v < kVectors; ++v) to[v] = y + v * kLanes;
  multiply_panel<rows>(depth, a, PackedPanel{b}, to, stride, adds);
}

template <int rows>
void multiply_indirect(std::int64_t depth, const float* a, const float* const* pieces, const std::int64_t* offsets,
                       float* const* y, std::int64_t stride, bool adds) {
  IndirectPieces panel{{}, offsets};
  float* to[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    panel.starts[v] = pieces[v];
    to[v] = y[v];
  }
  multiply_panel<rows>(depth, a, panel, to, stride, adds);
}

/// The sums of a tile of dot products begin. They are no struct: for Arm, GCC 12 compiles implicit constructors of
/// structs without the instructions of this target.
template <int rows, int columns>
HWY_INLINE void clear_dots(Vector (&sums)[rows][columns]) {
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) sums[r][c] = hn::Zero(kFloats);
  }
}

/// a(r), b(c): where the next vectors of the rows lie.
template <int rows, int columns, class A, class B>
HWY_INLINE void add_dots(Vector (&sums)[rows][columns], const A& a, const B& b) {
  Vector factors[columns];
#pragma GCC unroll 8
  for (int c = 0; c < columns; ++c) factors[c] = hn::LoadU(kFloats, b(c));
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const Vector factor = hn::LoadU(kFloats, a(r));
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) sums[r][c] = hn::MulAdd(factor, factors[c], sums[r][c]);
  }
}

/// visit(r, c, sum) for each sum.
template <int rows, int columns, class Visit>
HWY_INLINE void for_each_dot(const Vector (&sums)[rows][columns], const Visit& visit) {
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) visit(r, c, hn::GetLane(hn::SumOfLanes(kFloats, sums[r][c])));
  }
}

template <int rows, int columns>
void dot(std::int64_t length, float scale, const float* HWY_RESTRICT a, std::int64_t a_stride,
         const float* HWY_RESTRICT b, std::int64_t b_stride, float* HWY_RESTRICT y, std::int64_t y_stride) {
  Vector sums[rows][columns];
  clear_dots(sums);
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    add_dots(
        sums, [&](int r) HWY_ATTR { return a + r * a_stride + i; },
        [&](int c) HWY_ATTR { return b + c * b_stride + i; });
  }
  for_each_dot(sums, [&](int r, int c, float sum) HWY_ATTR {
    for (std::int64_t k = i; k < length; ++k) sum += a[r * a_stride + k] * b[c * b_stride + k];
    y[r * y_stride + c] += scale * sum;
  });
}

template <int rows, int columns>
void dot_indirect(std::int64_t vectors, const float* HWY_RESTRICT a, std::int64_t a_stride,
                  const std::int64_t* HWY_RESTRICT of_a, const float* const* b, const std::int64_t* HWY_RESTRICT of_b,
                  float* HWY_RESTRICT y, std::int64_t y_stride) {
  const float* starts[columns];
#pragma GCC unroll 8
  for (int c = 0; c < columns; ++c) starts[c] = b[c];
  Vector sums[rows][columns];
  clear_dots(sums);
  for (std::int64_t v = 0; v < vectors; ++v) {
    const float* row = a + of_a[v];
    const std::int64_t offset = of_b[v];
    add_dots(
        sums, [&](int r) HWY_ATTR { return row + r * a_stride; }, [&](int c) HWY_ATTR { return starts[c] + offset; });
  }
  for_each_dot(sums, [&](int r, int c, float sum) HWY_ATTR { y[r * y_stride + c] += sum; });
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

/// to[i] = v[i], or += where `adds`, for fewer elements than a vector has. A loop would become a call of memcpy, which
/// takes longer than its work.
HWY_INLINE void store_first(std::int64_t count, Vector v, bool adds, float* to) {
  constexpr hn::FixedTag<float, kLanes >= 4 ? 4 : 1> kShort;
  constexpr std::int64_t kShortLanes = hn::MaxLanes(kShort);
  HWY_ALIGN float made[kLanes];
  hn::Store(v, kFloats, made);
  std::int64_t i = 0;
  for (; i + kShortLanes <= count; i += kShortLanes) {
    const auto part = hn::LoadU(kShort, made + i);
    hn::StoreU(adds ? hn::Add(part, hn::LoadU(kShort, to + i)) : part, kShort, to + i);
  }
  const auto store_next = [&] {
    if (i < count) to[i] = adds ? to[i] + made[i] : made[i];
    ++i;
  };
  store_next();
  store_next();
  store_next();
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
      store_first(source.columns - column, sum[0], adds, to);
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

// ---- copies

/// Of a row with at least as many elements as a vector: the last one is handled with those before it.
template <class Tag>
HWY_INLINE void copy_row(Tag tag, std::int64_t columns, const float* from, float* to) {
  constexpr std::int64_t kStep = hn::MaxLanes(Tag());
  for (std::int64_t i = 0; i + kStep < columns; i += kStep) hn::StoreU(hn::LoadU(tag, from + i), tag, to + i);
  hn::StoreU(hn::LoadU(tag, from + columns - kStep), tag, to + columns - kStep);
}

void copy(const PlaneRows& from, float* to, std::int64_t stride) {
  constexpr hn::FixedTag<float, kLanes >= 4 ? 4 : 1> kShort;
  const float* row = from.start;
  for (std::int64_t r = 0; r < from.rows; ++r, row += from.stride, to += stride) {
    std::int64_t i = 0;
    if (from.step == 1) {
      if (from.columns >= kLanes) {
        copy_row(kFloats, from.columns, row, to);
      } else if (from.columns >= static_cast<std::int64_t>(hn::MaxLanes(kShort))) {
        copy_row(kShort, from.columns, row, to);
      } else {
        for (; i < from.columns; ++i) to[i] = row[i];
      }
      continue;
    }
#if HWY_TARGET != HWY_SCALAR
    if (from.step == 2) {  // the second load ends with the last element that is copied
      for (; i + kLanes <= from.columns; i += kLanes) {
        const Vector first = hn::LoadU(kFloats, row + 2 * i), second = hn::LoadU(kFloats, row + 2 * i + kLanes - 1);
        hn::StoreU(hn::ConcatUpperLower(kFloats, hn::ConcatOdd(kFloats, second, second),
                                        hn::ConcatEven(kFloats, first, first)),
                   kFloats, to + i);
      }
    }
#endif
    for (; i < from.columns; ++i) to[i] = row[i * from.step];
  }
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
  ((made.multiply_indirect[rows] = multiply_indirect<rows + 1>), ...);
}
template <int rows, int... columns>
constexpr void set_dot_row(MicroKernels& made, std::integer_sequence<int, columns...>) {
  ((made.dot[rows][columns] = dot<rows + 1, columns + 1>), ...);
  ((made.dot_indirect[rows][columns] = dot_indirect<rows + 1, columns + 1>), ...);
}
template <int... rows>
constexpr void set_dot(MicroKernels& made, std::integer_sequence<int, rows...>) {
  (set_dot_row<rows>(made, std::make_integer_sequence<int, kDotColumns>()), ...);
}

MicroKernels make_micro_kernels() {
  MicroKernels made{.lanes = static_cast<int>(kLanes),
                    .rows = kRows,
                    .columns = static_cast<int>(kVectors * kLanes),
                    .dot_rows = kDotRows,
                    .dot_columns = kDotColumns,
                    .multiply = {},
                    .multiply_indirect = {},
                    .dot = {},
                    .dot_indirect = {},
                    .filter = filter,
                    .correlate = correlate,
                    .copy = copy,
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
