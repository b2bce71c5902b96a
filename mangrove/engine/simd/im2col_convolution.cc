#include "mangrove/engine/simd/im2col_convolution.h"

#include <algorithm>
#include <span>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/gathering.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {
namespace {

/// The sums go over (tap, source channel).
struct Im2colFactors {
  const GridMap& map;

  const float* rows(std::int64_t row, std::int64_t, std::int64_t k, std::int64_t depth, float*) const {
    return map.packed + k * map.result.channels + row * depth;
  }
  void pack_panel(std::int64_t column, std::int64_t columns, std::int64_t k, std::int64_t depth, float* to) const {
    const std::int64_t width = micro_kernels().columns;
    if (columns < width) std::fill_n(to, depth * width, 0.0f);
    const Planes& source = map.source;
    Gathering gathering(map.grid, source.image_stride, source.plane);
    gathering.set_positions(column, columns);
    gathering.gather_sum(map.x, source.channels, k, depth, to, width);
  }
  float* row(std::int64_t row) const { return map.y + row * map.result.plane; }
  void offsets(std::int64_t position, std::span<std::int64_t> to) const {
    result_offsets(map.grid, map.result.image_stride, position, to);
  }
  bool adds() const { return false; }
  void finish(std::int64_t channel, std::int64_t offset, std::int64_t count) const {
    finish_results(map, channel, channel * map.result.plane + offset, count);
  }
};

// ---- the gradient of weights

/// Elements of a row of positions whose products are summed at once; rows of both factors stay in the caches.
std::int64_t positions_at_once(const Grid& grid, std::int64_t result_channels, std::int64_t batch) {
  constexpr std::int64_t kElements = 65536;
  const std::int64_t fit = std::clamp<std::int64_t>(kElements / result_channels, 64, kMostPositions);
  return ceil_div(std::min(batch * grid.positions(), fit), kMaxLanes) * kMaxLanes;
}

constexpr std::int64_t kGatheredRows = 48;

/// The results as a convolution of one tap reads them.
Grid result_grid(const Grid& grid) {
  return joined({grid.rows, grid.columns, {1, 1}, grid.rows, grid.columns, 0, grid.columns, 1, {{0, 0, 0}}});
}

/// Gathers rows k in [first, last), `width` apart; row k is (channel, tap), as the weights lie.
void gather_rows(const Grid& grid, Gathering& gathering, const float* x, std::int64_t first, std::int64_t last,
                 std::int64_t width, float* rows) {
  const auto taps = static_cast<std::int64_t>(grid.taps.size());
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t channel = ceil_div(first - tap, taps), end = ceil_div(last - tap, taps);
    if (channel >= end) continue;
    gathering.gather(grid.taps[static_cast<std::size_t>(tap)], x, channel, end - channel,
                     rows + (channel * taps + tap - first) * width, taps * width);
  }
}

/// Whether rows of both factors of a gradient lie in the images as they are, and are long enough for that to pay.
bool reads_whole_planes(const Grid& grid) {
  constexpr std::int64_t kLeast = 256;
  return grid.taps.size() == 1 && grid.rows == 1 && grid.source_rows == 1 && grid.columns == grid.source_columns &&
         grid.columns >= kLeast;
}

/// What the threads share.
struct Correlation {
  const Grid& grid;
  const Planes &source, &result;
  std::int64_t images;
  std::int64_t width;  // positions whose products are summed at once
  const float* x;
  const float* y;
};

/// w[m, k] += (row m of y) . (row k of x as its taps read it) for rows k in [first, last), which lie in the images.
void correlate_planes(const Correlation& c, std::int64_t first, std::int64_t last, float* w) {
  for (std::int64_t image = 0; image < c.images; ++image) {
    const float* x = c.x + image * c.source.image_stride + first * c.source.plane;
    const float* y = c.y + image * c.result.image_stride;
    for (std::int64_t position = 0; position < c.source.plane; position += c.width) {
      add_dot_products({c.result.channels, last - first, std::min(c.width, c.source.plane - position)}, 1, y + position,
                       c.result.plane, x + position, c.source.plane, w + first, c.source.channels);
    }
  }
}

/// The same where rows have to be gathered.
void correlate_rows(const Correlation& c, std::int64_t first, std::int64_t last, float* scratch, float* w) {
  const std::int64_t k = c.source.channels * static_cast<std::int64_t>(c.grid.taps.size());
  const Grid results = result_grid(c.grid);
  float* y_rows = scratch;
  float* x_rows = scratch + c.result.channels * c.width;
  Gathering of_x(c.grid, c.source.image_stride, c.source.plane);
  Gathering of_y(results, c.result.image_stride, c.result.plane);
  const std::int64_t positions = c.images * c.grid.positions();
  for (std::int64_t position = 0; position < positions; position += c.width) {
    const std::int64_t count = std::min(c.width, positions - position);
    of_x.set_positions(position, count);
    of_y.set_positions(position, count);
    of_y.gather(results.taps[0], c.y, 0, c.result.channels, y_rows, c.width);
    for (std::int64_t from = first; from < last; from += kGatheredRows) {
      const std::int64_t to = std::min(from + kGatheredRows, last);
      gather_rows(c.grid, of_x, c.x, from, to, c.width, x_rows);
      add_dot_products({c.result.channels, to - from, count}, 1, y_rows, c.width, x_rows, c.width, w + from, k);
    }
  }
}

}  // namespace

bool suits_im2col(const Grid&, const MapShape&) {
  return true;
}

std::int64_t im2col_scratch(const Grid&, std::int64_t) {
  return 0;
}

void map_im2col(const GridMap& map, std::int64_t images, int threads, float*) {
  const std::int64_t sum = map.source.channels * static_cast<std::int64_t>(map.grid.taps.size());
  multiply_blocks(Im2colFactors{map}, {map.result.channels, images * map.grid.positions(), sum}, map.result.plane,
                  threads);
}

std::int64_t im2col_gradient_scratch(const Grid& grid, std::int64_t result_channels, std::int64_t batch) {
  return (result_channels + kGatheredRows) * positions_at_once(grid, result_channels, batch);
}

void correlate_im2col(const Grid& grid, const Planes& source, const Planes& result, std::int64_t batch,
                      std::int64_t images, int threads, const float* x, const float* y, float* workspace, float* w) {
  const Correlation of{grid, source, result, images, positions_at_once(grid, result.channels, batch), x, y};
  const std::int64_t k = source.channels * static_cast<std::int64_t>(grid.taps.size());
  // from one tile to another: sums do not depend on the threads
  const std::int64_t tile = micro_kernels().dot_columns, tiles = ceil_div(k, tile);
  in_ranges_with_scratch(tiles, threads, workspace, im2col_gradient_scratch(grid, result.channels, batch),
                         [&](std::int64_t first_tile, std::int64_t last_tile, float* scratch) {
                           const std::int64_t first = first_tile * tile, last = std::min(k, last_tile * tile);
                           reads_whole_planes(grid) ? correlate_planes(of, first, last, w)
                                                    : correlate_rows(of, first, last, scratch, w);
                         });
}

}  // namespace mangrove::simd
