#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {

/// Positions next to each other in one row of one image.
struct Run {
  std::int64_t at;  // of the first, in what is gathered
  std::int64_t image, row, column, count;
};

/// Calls visit(Run) for positions [first, first + count), which go from one image to the next.
template <class Visit>
void for_each_run(const Grid& grid, std::int64_t first, std::int64_t count, Visit visit) {
  std::int64_t image = first / grid.positions(), row = first % grid.positions() / grid.columns;
  std::int64_t column = first % grid.columns;
  for (std::int64_t at = 0; at < count;) {
    const std::int64_t length = std::min(grid.columns - column, count - at);
    visit(Run{at, image, row, column, length});
    at += length;
    column = 0;
    if (++row == grid.rows) {
      row = 0;
      ++image;
    }
  }
}

/// Where the results of positions from this one on lie in a channel.
inline void result_offsets(const Grid& grid, std::int64_t image_stride, std::int64_t position,
                           std::span<std::int64_t> to) {
  for_each_run(grid, position, static_cast<std::int64_t>(to.size()), [&](const Run& run) {
    std::int64_t offset =
        run.image * image_stride + grid.first + run.row * grid.row_step + run.column * grid.column_step;
    for (std::int64_t& one : to.subspan(static_cast<std::size_t>(run.at), static_cast<std::size_t>(run.count))) {
      one = offset;
      offset += grid.column_step;
    }
  });
}

/// What one tap reads of a run, the same in each channel.
struct Segment {
  std::int64_t to, count, from;
};

constexpr std::int64_t kMostPositions = 512;

/// Gathers what taps read of at most kMostPositions positions: rows of the matrix that im2col makes. Elements outside
/// the image are zero.
class Gathering {
 public:
  explicit Gathering(const Grid& grid, std::int64_t image_stride, std::int64_t plane)
      : grid_(grid), image_stride_(image_stride), plane_(plane) {}

  void set_positions(std::int64_t first, std::int64_t count) {
    run_count_ = 0;
    for_each_run(grid_, first, count, [&](const Run& run) { runs_[run_count_++] = run; });
    count_ = count;
  }

  /// For channels [first, first + channels) of a tap: `count` elements each, `stride` apart; those behind stay.
  void gather(const Tap& tap, const float* source, std::int64_t first, std::int64_t channels, float* to,
              std::int64_t stride) {
    std::size_t segment_count = 0;
    std::int64_t covered = 0;
    for (const Run& run : std::span(runs_).first(run_count_)) {
      const std::int64_t row = run.row * grid_.step[0] + tap.row;
      if (row < 0 || row >= grid_.source_rows) continue;
      const std::int64_t column = run.column * grid_.step[1] + tap.column;
      const std::int64_t begin = steps(-column);
      const std::int64_t end = std::min(run.count, steps(grid_.source_columns - column));
      if (begin >= end) continue;
      segments_[segment_count++] = {
          run.at + begin, end - begin,
          run.image * image_stride_ + row * grid_.source_columns + column + begin * grid_.step[1]};
      covered += end - begin;
    }
    const auto segments = std::span(segments_).first(segment_count);
    if (segment_count == 1 && covered == count_ && grid_.step[1] == 1)
      return micro_kernels().copy({source + first * plane_ + segments_[0].from, channels, count_, plane_}, to, stride);
    for (std::int64_t c = 0; c < channels; ++c, to += stride) {
      if (covered < count_) clear(count_, to);
      const float* plane = source + (first + c) * plane_;
      if (grid_.step[1] == 1) {
        for (const Segment& s : segments) copy(plane + s.from, s.count, to + s.to);
      } else {
        for (const Segment& s : segments) {
          for (std::int64_t i = 0; i < s.count; ++i) to[s.to + i] = plane[s.from + i * grid_.step[1]];
        }
      }
    }
  }

  /// For elements [k, k + depth) of the sums over (tap, source channel): what is gathered of a tap differs only in the
  /// plane it lies in.
  void gather_sum(const float* source, std::int64_t source_channels, std::int64_t k, std::int64_t depth, float* to,
                  std::int64_t stride) {
    for (const std::int64_t end = k + depth; k < end;) {
      const std::int64_t first = k % source_channels, channels = std::min(source_channels - first, end - k);
      gather(grid_.taps[static_cast<std::size_t>(k / source_channels)], source, first, channels, to, stride);
      to += channels * stride;
      k += channels;
    }
  }

 private:
  /// ceil_div by the step; most steps are 1, and a division takes long.
  std::int64_t steps(std::int64_t columns) const {
    return grid_.step[1] == 1 ? std::max<std::int64_t>(columns, 0) : ceil_div(columns, grid_.step[1]);
  }

  const Grid& grid_;
  const std::int64_t image_stride_, plane_;
  std::int64_t count_ = 0;
  std::size_t run_count_ = 0;
  std::array<Run, kMostPositions> runs_;
  std::array<Segment, kMostPositions> segments_;
};

}  // namespace mangrove::simd
