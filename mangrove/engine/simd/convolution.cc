#include "mangrove/engine/simd/convolution.h"

#include <algorithm>
#include <span>

#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/depthwise.h"
#include "mangrove/engine/simd/direct_convolution.h"
#include "mangrove/engine/simd/few_positions.h"
#include "mangrove/engine/simd/gathering.h"
#include "mangrove/engine/simd/packed_weights.h"
#include "mangrove/engine/simd/scratch_ranges.h"
#include "mangrove/engine/simd/winograd.h"

namespace mangrove::simd {
namespace {

/// The sums go over (tap, source channel).
struct ConvolutionFactors {
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
    if (!map.finish.does_nothing()) finish_results(map, channel, channel * map.result.plane + offset, count);
  }
};

Planes input_planes(const ConvGeometry& g) {
  return {g.input_channels_per_group(), g.window.input_plane(), g.input_channels * g.window.input_plane()};
}
Planes output_planes(const ConvGeometry& g) {
  return {g.output_channels_per_group(), g.window.output_plane(), g.output_channels * g.window.output_plane()};
}

Finish of_group(Finish finish, std::int64_t group, const Planes& result) {
  if (finish.bias != nullptr) finish.bias += group * result.channels;
  if (finish.residual != nullptr) finish.residual += group * result.channels * result.plane;
  return finish;
}

std::int64_t group_weights(const ConvGeometry& g) {
  return g.output_channels_per_group() * g.input_channels_per_group() * g.window.taps();
}

/// Elements of scratch space that one thread needs.
std::int64_t grid_scratch(const Grid& grid, std::int64_t source_channels) {
  switch (grid.algorithm) {
    case MapAlgorithm::winograd:
      return winograd_scratch(grid, source_channels);
    case MapAlgorithm::direct:
      return direct_map_scratch(grid, source_channels);
    case MapAlgorithm::few_positions:
      return few_positions_scratch();
    case MapAlgorithm::gathered:
      return 0;
  }
  return 0;
}

/// One map of all groups, with packed weights.
void map_grid(const ConvGeometry& g, std::int64_t images, const Grid& grid, const WeightOrder& order,
              const Planes& source, const Planes& result, int threads, const float* x, const float* w,
              const Finish& finish, float* workspace, float* y) {
  const std::int64_t sum = source.channels * static_cast<std::int64_t>(grid.taps.size());
  for (std::int64_t group = 0; group < g.group; ++group) {
    const GridMap map{grid,
                      source,
                      result,
                      x + group * source.channels * source.plane,
                      w + group * packed_elements(grid, order),
                      of_group(finish, group, result),
                      y + group * result.channels * result.plane};
    if (grid.algorithm == MapAlgorithm::winograd) {
      winograd_map(map, images, threads, workspace);
    } else if (grid.algorithm == MapAlgorithm::direct) {
      direct_map(map, images, threads, workspace);
    } else if (grid.algorithm == MapAlgorithm::few_positions) {
      map_few_positions(map, images, threads, workspace);
    } else {
      multiply_blocks(ConvolutionFactors{map}, {result.channels, images * grid.positions(), sum}, result.plane,
                      threads);
    }
  }
}

// ---- the gradient of weights

/// Elements of a row of positions whose products are summed at once; rows of both factors stay in the caches.
std::int64_t positions_at_once(const ConvGeometry& g) {
  constexpr std::int64_t kElements = 65536;
  const std::int64_t all = g.batch * g.window.output_plane();
  const std::int64_t fit = std::clamp<std::int64_t>(kElements / g.output_channels_per_group(), 64, kMostPositions);
  return ceil_div(std::min(all, fit), kMaxLanes) * kMaxLanes;
}

constexpr std::int64_t kGatheredRows = 48;

/// Of one thread.
std::int64_t correlation_scratch(const ConvGeometry& g) {
  return (g.output_channels_per_group() + kGatheredRows) * positions_at_once(g);
}

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

/// w[m, k] += (row m of y) . (row k of x as its taps read it) for rows k in [first, last) of one group.
void correlate_rows(const ConvGeometry& g, std::int64_t images, const Grid& grid, const float* x, const float* y,
                    std::int64_t first, std::int64_t last, float* workspace, float* w) {
  const Planes input = input_planes(g), output = output_planes(g);
  const std::int64_t width = positions_at_once(g), k = input.channels * g.window.taps();
  if (reads_whole_planes(grid)) {
    for (std::int64_t image = 0; image < images; ++image) {
      const float* of_x = x + image * input.image_stride + first * input.plane;
      const float* of_y = y + image * output.image_stride;
      for (std::int64_t position = 0; position < input.plane; position += width) {
        add_dot_products({output.channels, last - first, std::min(width, input.plane - position)}, 1, of_y + position,
                         output.plane, of_x + position, input.plane, w + first, k);
      }
    }
    return;
  }
  const Grid results = result_grid(grid);
  float* y_rows = workspace;
  float* x_rows = workspace + output.channels * width;
  Gathering of_x(grid, input.image_stride, input.plane), of_y(results, output.image_stride, output.plane);
  const std::int64_t positions = images * grid.positions();
  for (std::int64_t position = 0; position < positions; position += width) {
    const std::int64_t count = std::min(width, positions - position);
    of_x.set_positions(position, count);
    of_y.set_positions(position, count);
    of_y.gather(results.taps[0], y, 0, output.channels, y_rows, width);
    for (std::int64_t from = first; from < last; from += kGatheredRows) {
      const std::int64_t to = std::min(from + kGatheredRows, last);
      gather_rows(grid, of_x, x, from, to, width, x_rows);
      add_dot_products({output.channels, to - from, count}, 1, y_rows, width, x_rows, width, w + from, k);
    }
  }
}

}  // namespace

std::int64_t elements_packed_for_convolve(const ConvolutionGrids& c) {
  if (is_depthwise(c.geometry)) return 0;
  return c.geometry.group * packed_elements(c.forward, forward_order(c.geometry));
}

std::int64_t elements_packed_for_transposed(const ConvolutionGrids& c) {
  if (is_depthwise(c.geometry)) return 0;
  std::int64_t elements = 0;
  for (const Grid& grid : c.transposed) elements += packed_elements(grid, transposed_order(c.geometry));
  return c.geometry.group * elements;
}

namespace {

/// Of all groups. Returns where the packed ones end.
float* pack_grid(const ConvGeometry& g, const Grid& grid, const WeightOrder& order, int threads, const float* w,
                 float* packed) {
  for (std::int64_t group = 0; group < g.group; ++group) {
    pack_weights(grid, order, threads, w + group * group_weights(g), packed);
    packed += packed_elements(grid, order);
  }
  return packed;
}

}  // namespace

void pack_for_convolve(const ConvolutionGrids& c, int threads, const float* w, float* packed) {
  if (is_depthwise(c.geometry)) return;
  pack_grid(c.geometry, c.forward, forward_order(c.geometry), threads, w, packed);
}

void pack_for_transposed(const ConvolutionGrids& c, int threads, const float* w, float* packed) {
  if (is_depthwise(c.geometry)) return;
  for (const Grid& grid : c.transposed)
    packed = pack_grid(c.geometry, grid, transposed_order(c.geometry), threads, w, packed);
}

std::int64_t convolve_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_convolve_scratch(c));
  return threads * whole_lines(grid_scratch(c.forward, c.geometry.input_channels_per_group()));
}

std::int64_t convolve_transposed_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_transposed_scratch(c));
  std::int64_t most = 0;
  for (const Grid& grid : c.transposed)
    most = std::max(most, threads * whole_lines(grid_scratch(grid, c.geometry.output_channels_per_group())));
  return most;
}

std::int64_t correlate_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_correlate_scratch(c));
  if (is_direct(c.forward))
    return threads *
           whole_lines(direct_correlate_scratch(c.forward, c.geometry.output_channels_per_group(), c.geometry.batch));
  return threads * correlation_scratch(c.geometry);
}

void convolve(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* w,
              const Finish& finish, float* workspace, float* y) {
  const ConvGeometry& g = c.geometry;
  if (is_depthwise(g)) return depthwise_convolve(c, images, threads, x, w, finish, workspace, y);
  map_grid(g, images, c.forward, forward_order(g), input_planes(g), output_planes(g), threads, x, w, finish, workspace,
           y);
}

void convolve_transposed(const ConvolutionGrids& c, std::int64_t images, int threads, const float* y, const float* w,
                         const Finish& finish, float* workspace, float* x) {
  const ConvGeometry& g = c.geometry;
  if (is_depthwise(g)) return depthwise_convolve_transposed(c, images, threads, y, w, finish, workspace, x);
  for (const Grid& grid : c.transposed) {
    map_grid(g, images, grid, transposed_order(g), output_planes(g), input_planes(g), threads, y, w, finish, workspace,
             x);
    w += g.group * packed_elements(grid, transposed_order(g));
  }
}

void correlate(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* y,
               float* workspace, float* w) {
  if (is_depthwise(c.geometry)) return depthwise_correlate(c, images, threads, x, y, workspace, w);
  const ConvGeometry& g = c.geometry;
  const Planes input = input_planes(g), output = output_planes(g);
  const std::int64_t k = input.channels * g.window.taps(), step = micro_kernels().dot_columns;
  const std::int64_t columns = ceil_div(k, step), parts = std::min<std::int64_t>(threads, columns);
  for (std::int64_t group = 0; group < g.group; ++group) {
    const float* of_x = x + group * input.channels * input.plane;
    const float* of_y = y + group * output.channels * output.plane;
    float* of_w = w + group * group_weights(g);
    if (is_direct(c.forward)) {
      direct_correlate(c.forward, input, output, g.batch, images, threads, of_x, of_y, workspace, of_w);
      continue;
    }
    in_parallel(parts, threads, [&](std::int64_t i) {  // from one tile to another: sums do not depend on the threads
      correlate_rows(g, images, c.forward, of_x, of_y, columns * i / parts * step,
                     std::min(k, columns * (i + 1) / parts * step), workspace + i * correlation_scratch(g), of_w);
    });
  }
}

}  // namespace mangrove::simd
