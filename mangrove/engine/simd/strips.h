#pragma once

#include <algorithm>
#include <cstdint>

#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/padded_rows.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {

/// Some rows of positions of one image, for channels [first_channel, last_channel) of the result.
struct Strip {
  std::int64_t image, first_row, rows, first_channel, last_channel;
};

/// Rows of positions that are computed at once, a multiple of `step` but for the last ones: their copy stays in a
/// cache, and the weights are read once for all.
inline std::int64_t rows_at_once(const Grid& grid, const PaddedRows& padded, std::int64_t source_channels,
                                 std::int64_t step) {
  constexpr std::int64_t kElements = 65536, kPositions = 64;
  std::int64_t rows = ceil_div(ceil_div(kPositions, grid.columns), step) * step;
  while (rows < grid.rows && source_channels * padded.plane(rows + step) <= kElements) rows += step;
  return std::min(rows, ceil_div(grid.rows, step) * step);
}

/// Computes a map in strips of at most `most_rows` rows, a multiple of `step`, which the threads share: a worker that
/// make_worker(scratch) returns computes one after another, by compute(const Strip&). Each thread has `scratch`
/// elements of the workspace.
template <class MakeWorker>
void compute_strips(const GridMap& map, std::int64_t images, int threads, std::int64_t most_rows, std::int64_t step,
                    std::int64_t scratch, float* workspace, const MakeWorker& make_worker) {
  const std::int64_t height = micro_kernels().rows, tiles = ceil_div(map.result.channels, height);
  const std::int64_t rows =
      std::min(most_rows, std::max<std::int64_t>(images * map.grid.rows / threads / step, 1) * step);
  const std::int64_t of_image = ceil_div(map.grid.rows, rows);
  // where there are fewer strips than threads, the channels of the result are shared too
  const std::int64_t parts = std::min(ceil_div(threads, images * of_image), tiles);
  in_ranges_with_scratch(images * of_image * parts, threads, workspace, scratch,
                         [&](std::int64_t first, std::int64_t last, float* own) {
                           auto worker = make_worker(own);
                           for (std::int64_t i = first; i < last; ++i) {
                             const std::int64_t part = i % parts, row = i / parts % of_image * rows;
                             worker.compute(Strip{i / parts / of_image, row, std::min(rows, map.grid.rows - row),
                                                  tiles * part / parts * height,
                                                  std::min(tiles * (part + 1) / parts * height, map.result.channels)});
                           }
                         });
}

}  // namespace mangrove::simd
