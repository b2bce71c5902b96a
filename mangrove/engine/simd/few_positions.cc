#include "mangrove/engine/simd/few_positions.h"

#include <algorithm>
#include <array>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/gathering.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {
namespace {

/// visit(where the weight of element k of the sum lies for the first result of a tile, results, its plain index).
template <class Visit>
void for_each_weight_row(const WeightOrder& order, const std::vector<Tap>& taps, std::int64_t first_result,
                         Visit visit) {
  const std::int64_t width = micro_kernels().columns, padded = ceil_div(order.results, width) * width;
  const std::int64_t results = std::min(width, order.results - first_result);
  const std::int64_t sum = order.sources * static_cast<std::int64_t>(taps.size());
  std::int64_t k = 0;
  for (const Tap& tap : taps) {
    for (std::int64_t source = 0; source < order.sources; ++source, ++k) {
      const std::int64_t block = k / kDepth * kDepth, depth = std::min(kDepth, sum - block);
      visit(block * padded + first_result * depth + (k - block) * width, results,
            first_result * order.result_stride + source * order.source_stride + tap.weight);
    }
  }
}

}  // namespace

bool are_few_positions(std::int64_t positions) {
  return 3 * positions <= 2 * micro_kernels().columns;
}

std::int64_t few_positions_elements(const WeightOrder& order, std::int64_t taps) {
  const std::int64_t width = micro_kernels().columns;
  return ceil_div(order.results, width) * width * order.sources * taps;
}

void pack_for_few_positions(const WeightOrder& order, const std::vector<Tap>& taps, int threads, const float* weights,
                            float* packed) {
  const std::int64_t width = micro_kernels().columns;
  in_parallel(ceil_div(order.results, width), threads, [&](std::int64_t tile) {
    for_each_weight_row(order, taps, tile * width, [&](std::int64_t to, std::int64_t results, std::int64_t from) {
      for (std::int64_t m = 0; m < results; ++m) packed[to + m] = weights[from + m * order.result_stride];
      std::fill(packed + to + results, packed + to + width, 0.0f);
    });
  });
}

void unpack_from_few_positions(const WeightOrder& order, const std::vector<Tap>& taps, const float* packed,
                               float* weights) {
  for (std::int64_t first = 0; first < order.results; first += micro_kernels().columns) {
    for_each_weight_row(order, taps, first, [&](std::int64_t from, std::int64_t results, std::int64_t to) {
      for (std::int64_t m = 0; m < results; ++m) weights[to + m * order.result_stride] = packed[from + m];
    });
  }
}

std::int64_t few_positions_scratch() {
  return kDepth * MicroKernels::kMaxRows;
}

void map_few_positions(const GridMap& map, std::int64_t images, int threads, float* workspace) {
  const MicroKernels& kernels = micro_kernels();
  const Grid& grid = map.grid;
  const std::int64_t width = kernels.columns, tiles = ceil_div(map.result.channels, width);
  const std::int64_t positions = images * grid.positions();
  const std::int64_t sum = map.source.channels * static_cast<std::int64_t>(grid.taps.size());
  in_ranges_with_scratch(
      tiles, threads, workspace, few_positions_scratch(), [&](std::int64_t first, std::int64_t last, float* gathered) {
        Gathering gathering(grid, map.source.image_stride, map.source.plane);
        std::array<std::int64_t, MicroKernels::kMaxRows> offsets;
        for (std::int64_t position = 0; position < positions; position += kernels.rows) {
          const std::int64_t rows = std::min<std::int64_t>(kernels.rows, positions - position);
          gathering.set_positions(position, rows);
          result_offsets(grid, map.result.image_stride, position,
                         std::span(offsets).first(static_cast<std::size_t>(rows)));
          for (std::int64_t k = 0; k < sum; k += kDepth) {
            const std::int64_t depth = std::min(kDepth, sum - k);
            gathering.gather_sum(map.x, map.source.channels, k, depth, gathered, rows);
            for (std::int64_t tile = first; tile < last; ++tile) {
              alignas(64) std::array<float, MicroKernels::kMaxRows * MicroKernels::kMaxColumns> made;
              const std::int64_t channels = std::min(width, map.result.channels - tile * width);
              float* y = map.y + tile * width * map.result.plane;
              for (std::int64_t r = 0; k > 0 && r < rows; ++r) {
                for (std::int64_t c = 0; c < width; ++c)
                  made[static_cast<std::size_t>(r * width + c)] =
                      c < channels ? y[c * map.result.plane + offsets[static_cast<std::size_t>(r)]] : 0.0f;
              }
              kernels.multiply[static_cast<std::size_t>(rows - 1)](
                  depth, gathered, map.packed + k * tiles * width + tile * width * depth, made.data(), width, k > 0);
              for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t c = 0; c < channels; ++c)
                  y[c * map.result.plane + offsets[static_cast<std::size_t>(r)]] =
                      made[static_cast<std::size_t>(r * width + c)];
              }
            }
          }
          if (map.finish.does_nothing()) continue;
          for (std::int64_t channel = first * width; channel < std::min(last * width, map.result.channels); ++channel) {
            for (std::int64_t r = 0; r < rows; ++r)
              finish_results(map, channel, channel * map.result.plane + offsets[static_cast<std::size_t>(r)], 1);
          }
        }
      });
}

}  // namespace mangrove::simd
