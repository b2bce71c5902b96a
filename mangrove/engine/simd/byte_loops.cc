#include "mangrove/engine/simd/byte_loops.h"

// Compiled once for each set of instructions, as micro_kernels.cc is.
#include "mangrove/engine/simd/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mangrove/engine/simd/byte_loops.cc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mangrove::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// With tags of one element the same loops compute what is left behind the last full vector.
using FloatVectors = hn::FixedTag<float, HWY_LANES(float)>;
using FloatSingles = hn::FixedTag<float, 1>;

/// work(tag, first): for each vector of elements next to each other, then for each element of the rest.
template <class Work>
HWY_INLINE void for_each_float_vector(std::int64_t count, const Work& work) {
  constexpr std::int64_t kLanes = HWY_LANES(float);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) work(FloatVectors(), i);
  for (; i < count; ++i) work(FloatSingles(), i);
}

void widen_range(std::int64_t count, const float* x, float* low, float* high) {
  constexpr std::int64_t kLanes = HWY_LANES(float);
  constexpr int kSide = 4;  // ranges next to each other, so that the processor has several to work on at once
  const FloatVectors tag;
  hn::Vec<FloatVectors> lows[kSide], highs[kSide];
  for (int s = 0; s < kSide; ++s) lows[s] = hn::Set(tag, *low), highs[s] = hn::Set(tag, *high);
  const auto widen = [&](int s, std::int64_t at) HWY_ATTR {
    const auto values = hn::LoadU(tag, x + at);
    lows[s] = hn::Min(values, lows[s]);
    highs[s] = hn::Max(values, highs[s]);
  };
  std::int64_t i = 0;
  for (; i + kSide * kLanes <= count; i += kSide * kLanes) {
#pragma GCC unroll 4
    for (int s = 0; s < kSide; ++s) widen(s, i + s * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) widen(0, i);
  const auto lowest = hn::Min(hn::Min(lows[0], lows[1]), hn::Min(lows[2], lows[3]));
  const auto highest = hn::Max(hn::Max(highs[0], highs[1]), hn::Max(highs[2], highs[3]));
  *low = hn::GetLane(hn::MinOfLanes(tag, lowest));
  *high = hn::GetLane(hn::MaxOfLanes(tag, highest));
  for (; i < count; ++i) {
    *low = x[i] < *low ? x[i] : *low;
    *high = x[i] > *high ? x[i] : *high;
  }
}

void quantize(std::int64_t count, const float* x, float scale, std::uint8_t zero, std::uint8_t* y) {
  for_each_float_vector(count, [&](auto tag, std::int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(tag)> integers;
    const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
    const auto steps = hn::Round(hn::Div(hn::LoadU(tag, x + i), hn::Set(tag, scale)));
    const auto shifted = hn::Add(steps, hn::Set(tag, static_cast<float>(zero)));
    const auto clipped = hn::Min(hn::Max(shifted, hn::Zero(tag)), hn::Set(tag, 255.0f));
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(integers, clipped)), bytes, y + i);
  });
}

std::int32_t sum(std::int64_t count, const std::uint8_t* x) {
  constexpr std::int64_t kLanes = HWY_LANES(std::uint8_t);
  const hn::FixedTag<std::uint8_t, HWY_LANES(std::uint8_t)> bytes;
  const hn::FixedTag<std::uint64_t, HWY_LANES(std::uint64_t)> wide;
  auto sums = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(bytes, x + i)));
  auto total = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(wide, sums)));
  for (; i < count; ++i) total += x[i];
  return total;
}

void add(std::int64_t count, const std::uint8_t* x, std::int32_t* sums) {
  for_each_float_vector(count, [&](auto tag, std::int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(tag)> integers;
    const hn::Rebind<std::uint8_t, decltype(tag)> bytes;
    const auto more = hn::PromoteTo(integers, hn::LoadU(bytes, x + i));
    hn::StoreU(hn::Add(hn::LoadU(integers, sums + i), more), integers, sums + i);
  });
}

template <bool has_weight_zeros, bool to_floats>
void finish_as(std::int64_t count, const std::int32_t* sums, const SumsFinish& by, void* result) {
  const SumsFinish finish = by;  // of this function: stores to the result cannot change it
  for_each_float_vector(count, [&](auto tag, std::int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(tag)> integers;
    const auto zero = hn::Set(integers, finish.x_zero);
    auto exact = hn::Sub(hn::LoadU(integers, sums + i), hn::Mul(zero, hn::LoadU(integers, finish.weight_sums + i)));
    if constexpr (has_weight_zeros) {
      const auto zeros = hn::LoadU(integers, finish.weight_zeros + i);
      exact = hn::Sub(exact, hn::Mul(zeros, hn::LoadU(integers, finish.source_sums + i)));
    }
    if constexpr (!to_floats) {
      hn::StoreU(exact, integers, static_cast<std::int32_t*>(result) + i);
    } else {
      auto value = hn::Mul(hn::ConvertTo(tag, exact), hn::LoadU(tag, finish.scales + i));
      if (finish.bias != nullptr) value = hn::Add(value, hn::LoadU(tag, finish.bias + i));
      if (finish.residual != nullptr) value = hn::Add(value, hn::LoadU(tag, finish.residual + i));
      const auto bounded = hn::Min(hn::Max(value, hn::Set(tag, finish.bounds.low)), hn::Set(tag, finish.bounds.high));
      // Some processors give the bound where one of both is no number.
      hn::StoreU(hn::IfThenElse(hn::IsNaN(value), value, bounded), tag, static_cast<float*>(result) + i);
    }
  });
}

void finish(std::int64_t count, const std::int32_t* sums, const SumsFinish& by, void* result) {
  const bool has_zeros = by.weight_zeros != nullptr, to_floats = by.scales != nullptr;
  const auto as = has_zeros ? (to_floats ? finish_as<true, true> : finish_as<true, false>)
                            : (to_floats ? finish_as<false, true> : finish_as<false, false>);
  as(count, sums, by, result);
}

ByteLoops make_byte_loops() {
  return {widen_range, quantize, sum, add, finish};
}

}  // namespace HWY_NAMESPACE
}  // namespace mangrove::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mangrove::simd {

HWY_EXPORT(make_byte_loops);

const ByteLoops& byte_loops() {
  static const ByteLoops made = HWY_DYNAMIC_DISPATCH(make_byte_loops)();
  return made;
}

}  // namespace mangrove::simd
#endif
