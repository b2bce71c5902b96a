#include "mangrove/engine/simd/few_positions.h"

#include <algorithm>
#include <array>

#include "mangrove/engine/simd/gathering.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {
namespace {

/// One result of a channel, which lies at `at`; as MicroKernels::finish computes it.
float finished(const Finish& finish, std::int64_t channel, std::int64_t at, float value) {
  if (finish.bias != nullptr) value += finish.bias[channel];
  if (finish.residual != nullptr) value += finish.residual[at];
  if (value < finish.bounds.low) value = finish.bounds.low;
  return value > finish.bounds.high ? finish.bounds.high : value;
}

/// Positions [position, position + rows) of tiles [first_tile, last_tile) of channels.
void multiply_positions(const GridMap& map, Gathering& gathering, std::int64_t position, std::int64_t rows,
                        std::int64_t first_tile, std::int64_t last_tile, float* gathered) {
  const std::int64_t width = micro_kernels().columns, padded = ceil_div(map.result.channels, width) * width;
  const std::int64_t sum = map.source.channels * static_cast<std::int64_t>(map.grid.taps.size());
  const auto multiply = micro_kernels().multiply[static_cast<std::size_t>(rows - 1)];
  alignas(64) std::array<float, MicroKernels::kMaxResults> made{};
  std::array<std::int64_t, MicroKernels::kMaxRows> offsets;
  result_offsets(map.grid, map.result.image_stride, position, std::span(offsets).first(static_cast<std::size_t>(rows)));
  /// visit(channel, where the result lies, element of the tile)
  const auto for_each_result = [&](std::int64_t tile, const auto& visit) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t m = tile * width; m < std::min((tile + 1) * width, map.result.channels); ++m)
        visit(m, m * map.result.plane + offsets[static_cast<std::size_t>(r)],
              made[static_cast<std::size_t>(r * width + m - tile * width)]);
    }
  };
  gathering.set_positions(position, rows);
  std::int64_t k = 0;
  do {  // once too where no tap meets the grid
    const std::int64_t depth = std::min(kDepth, sum - k);
    gathering.gather_sum(map.x, map.source.channels, k, depth, gathered, rows);
    for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
      if (k > 0) for_each_result(tile, [&](std::int64_t, std::int64_t at, float& element) { element = map.y[at]; });
      multiply(depth, gathered, map.packed + k * padded + tile * width * depth, made.data(), width, k > 0);
      if (k + depth < sum) {
        for_each_result(tile, [&](std::int64_t, std::int64_t at, float element) { map.y[at] = element; });
      } else {
        for_each_result(tile, [&](std::int64_t channel, std::int64_t at, float element) {
          map.y[at] = finished(map.finish, channel, at, element);
        });
      }
    }
    k += depth;
  } while (k < sum);
}

}  // namespace

bool suits_few_positions(const Grid& grid, const MapShape& shape) {
  return 3 * shape.batch * grid.positions() <= std::int64_t{2} * micro_kernels().columns;
}

std::int64_t few_positions_scratch(const Grid&, std::int64_t) {
  return kDepth * MicroKernels::kMaxRows;
}

void map_few_positions(const GridMap& map, std::int64_t images, int threads, float* workspace) {
  const std::int64_t width = micro_kernels().columns, positions = images * map.grid.positions();
  in_ranges_with_scratch(ceil_div(map.result.channels, width), threads, workspace,
                         few_positions_scratch(map.grid, map.source.channels),
                         [&](std::int64_t first, std::int64_t last, float* gathered) {
                           Gathering gathering(map.grid, map.source.image_stride, map.source.plane);
                           for (std::int64_t at = 0; at < positions; at += micro_kernels().rows) {
                             const std::int64_t rows = std::min<std::int64_t>(micro_kernels().rows, positions - at);
                             multiply_positions(map, gathering, at, rows, first, last, gathered);
                           }
                         });
}

}  // namespace mangrove::simd
