#include "mangrove/engine/simd/winograd.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/indirect_convolution.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/padded_rows.h"
#include "mangrove/engine/simd/strips.h"
#include "mangrove/engine/simd/winograd_loops.h"

namespace mangrove::simd {
namespace {

/// Which of a filter's weights, in plain order, lies at row i and column j of what a position reads.
std::array<std::int64_t, 9> weights_by_place(const std::vector<Tap>& taps) {
  std::int64_t row = taps[0].row, column = taps[0].column;
  for (const Tap& tap : taps) {
    row = std::min(row, tap.row);
    column = std::min(column, tap.column);
  }
  std::array<std::int64_t, 9> places{};
  for (const Tap& tap : taps) places[static_cast<std::size_t>((tap.row - row) * 3 + tap.column - column)] = tap.weight;
  return places;
}

/// G g of three elements `stride` apart: to[0], to[stride_to], ...
void expand(const float* g, std::size_t stride, float* to, std::size_t stride_to) {
  const float outer = g[0] + g[2 * stride], middle = g[stride];
  to[0] = g[0];
  to[stride_to] = (outer + middle) / 2;
  to[2 * stride_to] = (outer - middle) / 2;
  to[3 * stride_to] = g[2 * stride];
}

/// Half of a vector of tiles: next to each other in one row of them.
struct Half {
  std::int64_t source, result;  // where they begin
  std::int64_t rows, columns;   // of results that there are
};

/// One thread's work, on one strip of rows after another.
class WinogradMap {
 public:
  WinogradMap(const GridMap& map, const PaddedRows& padded, std::int64_t most_rows, float* scratch)
      : map_(map),
        padded_(padded),
        plane_(padded.plane(most_rows)),
        copy_(scratch),
        transformed_(scratch + map.source.channels * plane_) {
    std::fill_n(copy_, map.source.channels * plane_, 0.0f);
  }

  static std::int64_t scratch(const PaddedRows& padded, std::int64_t source_channels, std::int64_t most_rows) {
    return source_channels * (padded.plane(most_rows) + kTransformed * micro_kernels().columns);
  }

  void compute(const Strip& strip) {
    const Grid& grid = map_.grid;
    const std::int64_t lanes = micro_kernels().lanes, even_rows = ceil_div(strip.rows, 2) * 2;
    for (std::int64_t c = 0; c < map_.source.channels; ++c) {
      padded_.fill(map_.x + strip.image * map_.source.image_stride + c * map_.source.plane, strip.first_row, even_rows,
                   copy_ + c * plane_);
    }
    const std::int64_t result = strip.image * map_.result.image_stride + grid.first + strip.first_row * grid.row_step;
    halves_.clear();
    for (std::int64_t row = 0; row < strip.rows; row += 2) {
      for (std::int64_t column = 0; column < grid.columns; column += lanes) {
        halves_.push_back({row * padded_.row + column, result + row * grid.row_step + column,
                           std::min<std::int64_t>(2, strip.rows - row), std::min(lanes, grid.columns - column)});
      }
    }
    const auto at_once = static_cast<std::size_t>(std::int64_t{2} * micro_kernels().columns / lanes);
    for (std::size_t first = 0; first < halves_.size(); first += at_once)
      multiply_tiles(std::span(halves_).subspan(first, std::min(at_once, halves_.size() - first)), strip.first_channel,
                     strip.last_channel);
    for (std::int64_t channel = strip.first_channel; channel < strip.last_channel; ++channel)
      finish_results(map_, channel, channel * map_.result.plane + result, strip.rows * grid.columns);
  }

 private:
  /// Some vectors of tiles, as many as a product has columns for, for all channels.
  void multiply_tiles(std::span<const Half> halves, std::int64_t first_channel, std::int64_t last_channel) {
    const MicroKernels& kernels = micro_kernels();
    const std::int64_t sources = map_.source.channels, columns = kernels.columns, lanes = kernels.lanes;
    const std::int64_t vectors = ceil_div(static_cast<std::int64_t>(halves.size()), 2);
    for (std::int64_t v = 0; v < vectors; ++v) {
      const std::array<const float*, 2> starts{copy_ + half(halves, v, 0).source, copy_ + half(halves, v, 1).source};
      winograd_loops()->transform_source(sources, starts.data(), plane_, padded_.row, transformed_ + v * lanes,
                                         sources * columns, columns);
    }
    alignas(64) std::array<float, kTransformed * MicroKernels::kMaxResults> products;
    for (std::int64_t channel = first_channel; channel < last_channel; channel += kernels.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernels.rows, last_channel - channel);
      const auto multiply = kernels.multiply[static_cast<std::size_t>(rows - 1)];
      for (std::int64_t p = 0; p < kTransformed; ++p) {
        const float* a = map_.packed + p * map_.result.channels * sources;
        for (std::int64_t k = 0; k < sources; k += kDepth) {
          const std::int64_t depth = std::min(kDepth, sources - k);
          multiply(depth, a + k * map_.result.channels + channel * depth, transformed_ + (p * sources + k) * columns,
                   products.data() + p * rows * columns, columns, k > 0);
        }
      }
      for (std::int64_t v = 0; v < vectors; ++v) {
        const bool has_second = 2 * v + 1 < static_cast<std::int64_t>(halves.size());
        write_results(half(halves, v, 0), has_second ? &half(halves, v, 1) : nullptr, products.data() + v * lanes, rows,
                      map_.y + channel * map_.result.plane);
      }
    }
  }

  /// Of vector v; where the second half is missing, the first again.
  static const Half& half(std::span<const Half> halves, std::int64_t v, std::int64_t h) {
    return halves[std::min(static_cast<std::size_t>(2 * v + h), halves.size() - 1)];
  }

  /// Of one vector of tiles, for `rows` channels. second: null if there is none.
  void write_results(const Half& first, const Half* second, const float* products, std::int64_t rows, float* y) {
    const std::int64_t lanes = micro_kernels().lanes, columns = micro_kernels().columns;
    const auto is_whole = [&](const Half& half) { return half.rows == 2 && half.columns == lanes; };
    if (second != nullptr && is_whole(first) && is_whole(*second)) {
      const std::int64_t step = map_.grid.row_step;
      const std::array<float*, 4> to{y + first.result, y + first.result + step, y + second->result,
                                     y + second->result + step};
      winograd_loops()->transform_result(rows, products, rows * columns, columns, to.data(), map_.result.plane);
      return;
    }
    alignas(64) std::array<float, 4 * kMaxLanes * MicroKernels::kMaxRows> made;
    const std::array<float*, 4> to{made.data(), made.data() + lanes, made.data() + 2 * lanes, made.data() + 3 * lanes};
    winograd_loops()->transform_result(rows, products, rows * columns, columns, to.data(), 4 * lanes);
    for (const std::size_t h : {0, 1}) {
      const Half* half = h == 0 ? &first : second;
      if (half == nullptr) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < half->rows; ++i) {
          std::copy_n(to[2 * h + static_cast<std::size_t>(i)] + r * 4 * lanes, half->columns,
                      y + half->result + r * map_.result.plane + i * map_.grid.row_step);
        }
      }
    }
  }

  const GridMap& map_;
  const PaddedRows& padded_;
  const std::int64_t plane_;
  float *const copy_, *const transformed_;  // the source, and the products' factors: [products, channels, tiles]
  std::vector<Half> halves_;
};

}  // namespace

bool suits_winograd(const Grid& grid, const MapShape& shape) {
  constexpr std::int64_t kLeastChannels = 16, kLeastSide = 4;
  if (!shape.fast || winograd_loops() == nullptr || grid.taps.size() != 9 || !suits_indirect(grid, shape)) return false;
  if (std::min(shape.source_channels, shape.result_channels) < kLeastChannels) return false;
  if (std::min(grid.rows, grid.columns) < kLeastSide) return false;
  const PaddedRows padded(grid);
  return padded.last_row - padded.first_row == 2 && padded.last_column - padded.first_column == 2;
}

std::int64_t winograd_elements(const Grid&, const WeightOrder& order) {
  return kTransformed * order.results * order.sources;
}

void pack_for_winograd(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed) {
  const std::array<std::int64_t, 9> places = weights_by_place(grid.taps);
  in_parallel(order.results, threads, [&](std::int64_t m) {
    for (std::int64_t c = 0; c < order.sources; ++c) {
      const float* from = weights + m * order.result_stride + c * order.source_stride;
      std::array<float, 9> filter;
      for (std::size_t i = 0; i < 9; ++i) filter[i] = from[places[i]];
      std::array<float, 12> rows;
      for (std::size_t j = 0; j < 3; ++j) expand(&filter[j], 3, &rows[j], 3);
      std::array<float, kTransformed> made;
      for (std::size_t i = 0; i < 4; ++i) expand(&rows[3 * i], 1, &made[4 * i], 1);
      float* to = packed + place_in_rows(order.results, order.sources, c, m);
      for (const float product : made) {
        *to = product;
        to += order.results * order.sources;
      }
    }
  });
}

void unpack_from_winograd(const Grid& grid, const WeightOrder& order, const float* packed, float* weights) {
  const std::array<std::int64_t, 9> places = weights_by_place(grid.taps);
  for (std::int64_t m = 0; m < order.results; ++m) {
    for (std::int64_t c = 0; c < order.sources; ++c) {
      const float* from = packed + place_in_rows(order.results, order.sources, c, m);
      const auto product = [&](std::int64_t i, std::int64_t j) {
        return from[(4 * i + j) * order.results * order.sources];
      };
      float* to = weights + m * order.result_stride + c * order.source_stride;
      for (const std::int64_t i : {0, 1, 2}) {
        const auto row = [&](std::int64_t j) {  // of the filter, still expanded along the columns
          return i == 1 ? product(1, j) - product(2, j) : product(i == 0 ? 0 : 3, j);
        };
        to[places[static_cast<std::size_t>(3 * i)]] = row(0);
        to[places[static_cast<std::size_t>(3 * i + 1)]] = row(1) - row(2);
        to[places[static_cast<std::size_t>(3 * i + 2)]] = row(3);
      }
    }
  }
}

std::int64_t winograd_scratch(const Grid& grid, std::int64_t source_channels) {
  const PaddedRows padded(grid);
  return WinogradMap::scratch(padded, source_channels, rows_at_once(grid, padded, source_channels, 2));
}

void map_winograd(const GridMap& map, std::int64_t images, int threads, float* workspace) {
  const PaddedRows padded(map.grid);
  const std::int64_t most = rows_at_once(map.grid, padded, map.source.channels, 2);
  compute_strips(map, images, threads, most, 2, WinogradMap::scratch(padded, map.source.channels, most), workspace,
                 [&](float* scratch) { return WinogradMap(map, padded, most, scratch); });
}

}  // namespace mangrove::simd
