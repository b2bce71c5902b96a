#include "mangrove/engine/simd/weight_order.h"

#include <algorithm>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {
namespace {

/// How results are cut into tiles. `padded`: results with the zeros behind the last one.
struct ResultTiles {
  std::int64_t width, padded;

  std::int64_t place(std::int64_t sum, std::int64_t k, std::int64_t result) const {
    const std::int64_t first = result / width * width, results = std::min(width, padded - first);
    const std::int64_t block = k / kDepth * kDepth, depth = std::min(kDepth, sum - block);
    return block * padded + first * depth + (k - block) * results + result - first;
  }
  std::int64_t count() const { return ceil_div(padded, width); }
};

ResultTiles rows_of(std::int64_t results) {
  return {micro_kernels().rows, results};
}
ResultTiles columns_of(std::int64_t results) {
  const std::int64_t width = micro_kernels().columns;
  return {width, ceil_div(results, width) * width};
}

std::int64_t sum_of(const Grid& grid, const WeightOrder& order) {
  return order.sources * static_cast<std::int64_t>(grid.taps.size());
}

/// visit(where the weight of a tile's first result lies, plain index of that weight), for each element of the sum.
template <class Visit>
void for_each_element(const Grid& grid, const WeightOrder& order, const ResultTiles& tiles, std::int64_t tile,
                      Visit visit) {
  const std::int64_t first = tile * tiles.width, sum = sum_of(grid, order);
  std::int64_t k = 0;
  for (const Tap& tap : grid.taps) {
    for (std::int64_t source = 0; source < order.sources; ++source, ++k)
      visit(tiles.place(sum, k, first), first * order.result_stride + source * order.source_stride + tap.weight);
  }
}

void pack(const Grid& grid, const WeightOrder& order, const ResultTiles& tiles, int threads, const float* weights,
          float* packed) {
  in_parallel(tiles.count(), threads, [&](std::int64_t tile) {
    const std::int64_t first = tile * tiles.width, results = std::min(tiles.width, order.results - first);
    const std::int64_t zeros = std::min(tiles.width, tiles.padded - first) - results;
    for_each_element(grid, order, tiles, tile, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t m = 0; m < results; ++m) packed[to + m] = weights[from + m * order.result_stride];
      std::fill_n(packed + to + results, zeros, 0.0f);
    });
  });
}

void unpack(const Grid& grid, const WeightOrder& order, const ResultTiles& tiles, const float* packed, float* weights) {
  for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
    const std::int64_t results = std::min(tiles.width, order.results - tile * tiles.width);
    for_each_element(grid, order, tiles, tile, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t m = 0; m < results; ++m) weights[to + m * order.result_stride] = packed[from + m];
    });
  }
}

}  // namespace

WeightOrder forward_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {g.output_channels_per_group(), inputs, inputs * taps, taps};
}

WeightOrder transposed_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {inputs, g.output_channels_per_group(), taps, inputs * taps};
}

std::int64_t place_in_rows(std::int64_t results, std::int64_t sum, std::int64_t k, std::int64_t result) {
  return rows_of(results).place(sum, k, result);
}

std::int64_t elements_in_rows(const Grid& grid, const WeightOrder& order) {
  return order.results * sum_of(grid, order);
}
void pack_in_rows(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed) {
  pack(grid, order, rows_of(order.results), threads, weights, packed);
}
void unpack_from_rows(const Grid& grid, const WeightOrder& order, const float* packed, float* weights) {
  unpack(grid, order, rows_of(order.results), packed, weights);
}

std::int64_t elements_in_columns(const Grid& grid, const WeightOrder& order) {
  return columns_of(order.results).padded * sum_of(grid, order);
}
void pack_in_columns(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed) {
  pack(grid, order, columns_of(order.results), threads, weights, packed);
}
void unpack_from_columns(const Grid& grid, const WeightOrder& order, const float* packed, float* weights) {
  unpack(grid, order, columns_of(order.results), packed, weights);
}

}  // namespace mangrove::simd
