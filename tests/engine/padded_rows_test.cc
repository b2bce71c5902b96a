// The copy of some rows of an image, whatever part of them lies outside.
#include "mangrove/engine/simd/padded_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

namespace mangrove::simd {
namespace {

Grid grid_of(std::int64_t rows, std::int64_t columns, std::vector<Tap> taps) {
  return {rows, columns, {1, 1}, 4, 5, 0, columns, 1, std::move(taps)};
}

TEST(PaddedRows, HoldWhatEachTapReads) {
  std::vector<float> image(20);  // 4 rows of 5
  std::iota(image.begin(), image.end(), 1.0f);
  for (const auto& [above, left, below, right] :
       std::vector<std::array<std::int64_t, 4>>{{1, 1, 1, 1}, {0, 0, 0, 0}, {3, 4, 5, 6}, {0, 2, 3, 0}, {2, 0, 0, 7}}) {
    const std::int64_t rows = 4 + above + below - 2, columns = 5 + left + right - 2;
    std::vector<Tap> taps;
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) taps.push_back({i - above, j - left, 3 * i + j});
    }
    const Grid grid = grid_of(rows, columns, taps);
    const PaddedRows padded(grid);
    for (std::int64_t first = 0; first < rows; ++first) {
      for (std::int64_t count = 1; first + count <= rows; ++count) {
        constexpr std::int64_t kGuard = 64;
        const std::int64_t plane = padded.plane(count);
        std::vector<float> guarded(static_cast<std::size_t>(plane + 2 * kGuard), 0);
        std::fill_n(guarded.begin(), kGuard, -7.0f);
        std::fill_n(guarded.end() - kGuard, kGuard, -7.0f);
        float* copy = guarded.data() + kGuard;
        padded.fill(image.data(), 0, 1, copy);  // another strip was there before
        padded.fill(image.data(), first, count, copy);
        for (const Tap& tap : taps) {
          for (std::int64_t r = 0; r < count; ++r) {
            for (std::int64_t c = 0; c < columns; ++c) {
              const std::int64_t row = first + r + tap.row, column = c + tap.column;
              const bool inside = row >= 0 && row < 4 && column >= 0 && column < 5;
              ASSERT_EQ(copy[padded.offset(tap) + r * padded.row + c],
                        inside ? image[static_cast<std::size_t>(row * 5 + column)] : 0)
                  << first << " " << count << " " << r << " " << c;
            }
          }
        }
        for (std::int64_t i = 0; i < kGuard; ++i) {
          ASSERT_EQ(guarded[static_cast<std::size_t>(i)], -7) << "in front";
          ASSERT_EQ(copy[plane + i], -7) << "behind";
        }
      }
    }
  }
}

}  // namespace
}  // namespace mangrove::simd
