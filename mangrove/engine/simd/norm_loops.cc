#include "mangrove/engine/simd/norm_loops.h"

#include <algorithm>

// Compiled once for each set of instructions, as micro_kernels.cc is.
#include "mangrove/engine/simd/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mangrove/engine/simd/norm_loops.cc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mangrove::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// With tags of one element the same loops compute what is left behind the last full vector.
using Vectors = hn::FixedTag<float, HWY_LANES(float)>;
using Singles = hn::FixedTag<float, 1>;

/// work(tag, first): for each vector of elements next to each other, then for each element of the rest.
template <class Work>
HWY_INLINE void for_each_vector(std::int64_t count, const Work& work) {
  constexpr std::int64_t kLanes = HWY_LANES(float);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) work(Vectors(), i);
  for (; i < count; ++i) work(Singles(), i);
}

/// Two sums, of terms(tag, first, first term, second term): in float over a tile, then in double.
template <class Terms>
HWY_INLINE void add_sums(std::int64_t count, double* sums, const Terms& terms) {
  constexpr int kSide = 4;  // sums next to each other, so that the processor has several to work on at once
  constexpr std::int64_t kLanes = HWY_LANES(float), kTile = std::int64_t{64} * kSide * kLanes;
  using Vector = hn::Vec<Vectors>;
  std::int64_t i = 0;
  while (i + kLanes <= count) {
    const std::int64_t end = std::min(count, i + kTile);
    Vector first[kSide], second[kSide];
    for (int s = 0; s < kSide; ++s) first[s] = second[s] = hn::Zero(Vectors());
    const auto add = [&](int s, std::int64_t at) HWY_ATTR {
      Vector a, b;
      terms(Vectors(), at, a, b);
      first[s] = hn::Add(first[s], a);
      second[s] = hn::Add(second[s], b);
    };
    for (; i + kSide * kLanes <= end; i += kSide * kLanes) {
#pragma GCC unroll 4
      for (int s = 0; s < kSide; ++s) add(s, i + s * kLanes);
    }
    for (; i + kLanes <= end; i += kLanes) add(0, i);
    const auto total = [](const Vector* v) HWY_ATTR {
      const Vector sum = hn::Add(hn::Add(v[0], v[1]), hn::Add(v[2], v[3]));
      return static_cast<double>(hn::GetLane(hn::SumOfLanes(Vectors(), sum)));
    };
    sums[0] += total(first);
    sums[1] += total(second);
  }
  for (; i < count; ++i) {
    hn::Vec<Singles> a, b;
    terms(Singles(), i, a, b);
    sums[0] += static_cast<double>(hn::GetLane(a));
    sums[1] += static_cast<double>(hn::GetLane(b));
  }
}

void moments(std::int64_t count, const float* x, float shift, double* sums) {
  add_sums(count, sums, [&](auto tag, std::int64_t i, auto& deviation, auto& square) HWY_ATTR {
    deviation = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, shift));
    square = hn::Mul(deviation, deviation);
  });
}

template <bool has_residual, bool has_bounds>
void normalize_as(std::int64_t count, const float* x, const float* residual, Affine map, const Bounds* bounds,
                  float* y) {
  const Bounds limits = has_bounds ? *bounds : Bounds{};  // of this function: stores to y cannot change them
  for_each_vector(count, [&](auto tag, std::int64_t i) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, map.mean));
    auto value = hn::MulAdd(centred, hn::Set(tag, map.factor), hn::Set(tag, map.bias));
    if constexpr (has_residual) value = hn::Add(value, hn::LoadU(tag, residual + i));
    if constexpr (has_bounds) {  // unlike Max and Min, this keeps NaN everywhere
      const auto low = hn::Set(tag, limits.low), high = hn::Set(tag, limits.high);
      value = hn::IfThenElse(hn::Lt(value, low), low, value);
      value = hn::IfThenElse(hn::Gt(value, high), high, value);
    }
    hn::StoreU(value, tag, y + i);
  });
}

void normalize(std::int64_t count, const float* x, const float* residual, Affine map, const Bounds* bounds, float* y) {
  const auto as = residual != nullptr ? (bounds != nullptr ? normalize_as<true, true> : normalize_as<true, false>)
                                      : (bounds != nullptr ? normalize_as<false, true> : normalize_as<false, false>);
  as(count, x, residual, map, bounds, y);
}

/// What of dy passes the bounds.
enum class Passes { all, by_map, by_result };

template <Passes passes, class Tag, class Vector>
HWY_INLINE Vector passed(Tag tag, std::int64_t i, Vector centred, const float* y, const float* dy, const Affine& map,
                         const Bounds& bounds) {
  const Vector g = hn::LoadU(tag, dy + i);
  if constexpr (passes == Passes::all) {
    return g;
  } else {
    Vector value;
    if constexpr (passes == Passes::by_result) {
      value = hn::LoadU(tag, y + i);
    } else {
      value = hn::MulAdd(centred, hn::Set(tag, map.factor), hn::Set(tag, map.bias));
    }
    const auto inside = hn::And(hn::Gt(value, hn::Set(tag, bounds.low)), hn::Lt(value, hn::Set(tag, bounds.high)));
    return hn::IfThenElseZero(inside, g);
  }
}

template <Passes passes>
void gradient_sums_as(std::int64_t count, const float* x, const float* y, const float* dy, Affine map,
                      const Bounds* bounds, double* sums) {
  const Bounds limits = passes == Passes::all ? Bounds{} : *bounds;
  add_sums(count, sums, [&](auto tag, std::int64_t i, auto& g, auto& product) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, map.mean));
    g = passed<passes>(tag, i, centred, y, dy, map, limits);
    product = hn::Mul(g, centred);
  });
}

template <Passes passes, bool has_dx, bool has_residual>
void gradient_as(std::int64_t count, const float* x, const float* y, const float* dy, Affine map, const Bounds* bounds,
                 GradientMap dx_map, float* dx, float* d_residual) {
  const Bounds limits = passes == Passes::all ? Bounds{} : *bounds;
  for_each_vector(count, [&](auto tag, std::int64_t i) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, map.mean));
    const auto g = passed<passes>(tag, i, centred, y, dy, map, limits);
    if constexpr (has_dx) {
      const auto rest = hn::MulAdd(hn::Set(tag, dx_map.slope), centred, hn::Set(tag, dx_map.constant));
      hn::StoreU(hn::MulAdd(hn::Set(tag, map.factor), g, rest), tag, dx + i);
    }
    if constexpr (has_residual) hn::StoreU(g, tag, d_residual + i);
  });
}

void gradient_sums(std::int64_t count, const float* x, const float* y, const float* dy, Affine map,
                   const Bounds* bounds, double* sums) {
  const auto as = bounds == nullptr ? gradient_sums_as<Passes::all>
                  : y != nullptr    ? gradient_sums_as<Passes::by_result>
                                    : gradient_sums_as<Passes::by_map>;
  as(count, x, y, dy, map, bounds, sums);
}

template <Passes passes>
void gradient_that_passes(std::int64_t count, const float* x, const float* y, const float* dy, Affine map,
                          const Bounds* bounds, GradientMap dx_map, float* dx, float* d_residual) {
  const auto as = dx == nullptr           ? gradient_as<passes, false, true>
                  : d_residual != nullptr ? gradient_as<passes, true, true>
                                          : gradient_as<passes, true, false>;
  as(count, x, y, dy, map, bounds, dx_map, dx, d_residual);
}

void gradient(std::int64_t count, const float* x, const float* y, const float* dy, Affine map, const Bounds* bounds,
              GradientMap dx_map, float* dx, float* d_residual) {
  const auto as = bounds == nullptr ? gradient_that_passes<Passes::all>
                  : y != nullptr    ? gradient_that_passes<Passes::by_result>
                                    : gradient_that_passes<Passes::by_map>;
  as(count, x, y, dy, map, bounds, dx_map, dx, d_residual);
}

NormLoops make_norm_loops() {
  return {moments, normalize, gradient_sums, gradient};
}

}  // namespace HWY_NAMESPACE
}  // namespace mangrove::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mangrove::simd {

HWY_EXPORT(make_norm_loops);

const NormLoops& norm_loops() {
  static const NormLoops made = HWY_DYNAMIC_DISPATCH(make_norm_loops)();
  return made;
}

}  // namespace mangrove::simd
#endif
