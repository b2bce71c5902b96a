#include "mangrove/engine/simd/winograd_loops.h"

#include <optional>

// Compiled once for each set of instructions, as micro_kernels.cc is.
#include "mangrove/engine/simd/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mangrove/engine/simd/winograd_loops.cc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mangrove::simd {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

std::optional<WinogradLoops> make_winograd_loops() {
  return std::nullopt;
}

#else

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::FixedTag<float, HWY_LANES(float)> kTiles;
using Tiles = hn::Vec<decltype(kTiles)>;
constexpr std::int64_t kLanes = HWY_LANES(float);

/// Column 2j, 2j + 1, 2j + 2 and 2j + 3 of each tile j in one row of the source. first, second: where its halves begin.
HWY_INLINE void load_columns(const float* first, const float* second, Tiles* columns) {
  for (const int ahead : {0, 2}) {
    const Tiles low = hn::LoadU(kTiles, first + ahead), high = hn::LoadU(kTiles, second + ahead);
    columns[ahead] = hn::ConcatEven(kTiles, high, low);
    columns[ahead + 1] = hn::ConcatOdd(kTiles, high, low);
  }
}

/// B^T d of four elements.
HWY_INLINE void transform_four(const Tiles& d0, const Tiles& d1, const Tiles& d2, const Tiles& d3, Tiles* to) {
  to[0] = hn::Sub(d0, d2);
  to[1] = hn::Add(d1, d2);
  to[2] = hn::Sub(d2, d1);
  to[3] = hn::Sub(d1, d3);
}

void transform_source(std::int64_t channels, const float* const* halves, std::int64_t plane, std::int64_t row,
                      float* HWY_RESTRICT to, std::int64_t product_stride, std::int64_t channel_stride) {
  const float *first = halves[0], *second = halves[1];
  for (std::int64_t c = 0; c < channels; ++c, first += plane, second += plane, to += channel_stride) {
    Tiles by_row[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Tiles d[4];
      load_columns(first + i * row, second + i * row, d);
      transform_four(d[0], d[1], d[2], d[3], by_row[i]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Tiles made[4];
      transform_four(by_row[0][j], by_row[1][j], by_row[2][j], by_row[3][j], made);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) hn::StoreU(made[i], kTiles, to + (4 * i + j) * product_stride);
    }
  }
}

/// Stores a, b of the first tile, a, b of the second, and so on: one half of the tiles here, the other there.
HWY_INLINE void store_interleaved(const Tiles& a, const Tiles& b, float* first, float* second) {
  const Tiles low = hn::InterleaveLower(kTiles, a, b), high = hn::InterleaveUpper(kTiles, a, b);
  if constexpr (kLanes == 4) {
    hn::StoreU(low, kTiles, first);
    hn::StoreU(high, kTiles, second);
  } else {  // both interleave within blocks of four
    static_assert(kLanes <= 8);
    hn::StoreU(hn::ConcatLowerLower(kTiles, high, low), kTiles, first);
    hn::StoreU(hn::ConcatUpperUpper(kTiles, high, low), kTiles, second);
  }
}

void transform_result(std::int64_t channels, const float* HWY_RESTRICT from, std::int64_t product_stride,
                      std::int64_t channel_stride, float* const* rows, std::int64_t plane) {
  for (std::int64_t c = 0; c < channels; ++c, from += channel_stride) {
    Tiles by_column[2][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Tiles m[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) m[i] = hn::LoadU(kTiles, from + (4 * i + j) * product_stride);
      by_column[0][j] = hn::Add(hn::Add(m[0], m[1]), m[2]);
      by_column[1][j] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const Tiles* m = by_column[i];
      store_interleaved(hn::Add(hn::Add(m[0], m[1]), m[2]), hn::Sub(hn::Sub(m[1], m[2]), m[3]), rows[i] + c * plane,
                        rows[2 + i] + c * plane);
    }
  }
}

std::optional<WinogradLoops> make_winograd_loops() {
  return WinogradLoops{transform_source, transform_result};
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace mangrove::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mangrove::simd {

HWY_EXPORT(make_winograd_loops);

const WinogradLoops* winograd_loops() {
  static const std::optional<WinogradLoops> made = HWY_DYNAMIC_DISPATCH(make_winograd_loops)();
  return made ? &*made : nullptr;
}

}  // namespace mangrove::simd
#endif
