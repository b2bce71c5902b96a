#include "mangrove/engine/simd/convolution.h"

#include <algorithm>

#include "mangrove/engine/simd/depthwise.h"
#include "mangrove/engine/simd/grid_algorithm.h"
#include "mangrove/engine/simd/im2col_convolution.h"
#include "mangrove/engine/simd/indirect_convolution.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {
namespace {

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

/// Of all groups.
std::int64_t packed_elements(const ConvGeometry& g, const Grid& grid, const WeightOrder& order) {
  return g.group * grid.algorithm->packed_elements(grid, order);
}

void pack_grid(const ConvGeometry& g, const Grid& grid, const WeightOrder& order, int threads, const float* w,
               float* packed) {
  for (std::int64_t group = 0; group < g.group; ++group) {
    grid.algorithm->pack(grid, order, threads, w + group * group_weights(g),
                         packed + group * grid.algorithm->packed_elements(grid, order));
  }
}

/// One map of all groups, with packed weights.
void map_grid(const ConvGeometry& g, std::int64_t images, const Grid& grid, const WeightOrder& order,
              const Planes& source, const Planes& result, int threads, const float* x, const float* w,
              const Finish& finish, float* workspace, float* y) {
  for (std::int64_t group = 0; group < g.group; ++group) {
    grid.algorithm->map({grid, source, result, x + group * source.channels * source.plane,
                         w + group * grid.algorithm->packed_elements(grid, order), of_group(finish, group, result),
                         y + group * result.channels * result.plane},
                        images, threads, workspace);
  }
}

/// Whether the gradient of weights is computed so, which depends on the grid alone.
bool correlates_indirectly(const ConvolutionGrids& c) {
  return suits_indirect(c.forward, {});
}

}  // namespace

std::int64_t elements_packed_for_convolve(const ConvolutionGrids& c) {
  if (is_depthwise(c.geometry)) return 0;
  return packed_elements(c.geometry, c.forward, forward_order(c.geometry));
}

std::int64_t elements_packed_for_transposed(const ConvolutionGrids& c) {
  if (is_depthwise(c.geometry)) return 0;
  std::int64_t elements = 0;
  for (const Grid& grid : c.transposed) elements += packed_elements(c.geometry, grid, transposed_order(c.geometry));
  return elements;
}

void pack_for_convolve(const ConvolutionGrids& c, int threads, const float* w, float* packed) {
  if (is_depthwise(c.geometry)) return;
  pack_grid(c.geometry, c.forward, forward_order(c.geometry), threads, w, packed);
}

void pack_for_transposed(const ConvolutionGrids& c, int threads, const float* w, float* packed) {
  if (is_depthwise(c.geometry)) return;
  const WeightOrder order = transposed_order(c.geometry);
  for (const Grid& grid : c.transposed) {
    pack_grid(c.geometry, grid, order, threads, w, packed);
    packed += packed_elements(c.geometry, grid, order);
  }
}

std::int64_t convolve_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_convolve_scratch(c));
  return threads * whole_lines(c.forward.algorithm->scratch(c.forward, c.geometry.input_channels_per_group()));
}

std::int64_t convolve_transposed_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_transposed_scratch(c));
  std::int64_t most = 0;
  for (const Grid& grid : c.transposed)
    most = std::max(most, threads * whole_lines(grid.algorithm->scratch(grid, c.geometry.output_channels_per_group())));
  return most;
}

std::int64_t correlate_workspace(const ConvolutionGrids& c, int threads) {
  if (is_depthwise(c.geometry)) return threads * whole_lines(depthwise_correlate_scratch(c));
  const auto scratch = correlates_indirectly(c) ? indirect_gradient_scratch : im2col_gradient_scratch;
  return threads * whole_lines(scratch(c.forward, c.geometry.output_channels_per_group(), c.geometry.batch));
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
    w += packed_elements(g, grid, transposed_order(g));
  }
}

void correlate(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* y,
               float* workspace, float* w) {
  if (is_depthwise(c.geometry)) return depthwise_correlate(c, images, threads, x, y, workspace, w);
  const ConvGeometry& g = c.geometry;
  const Planes input = input_planes(g), output = output_planes(g);
  const auto correlate_group = correlates_indirectly(c) ? correlate_indirect : correlate_im2col;
  for (std::int64_t group = 0; group < g.group; ++group) {
    correlate_group(c.forward, input, output, g.batch, images, threads, x + group * input.channels * input.plane,
                    y + group * output.channels * output.plane, workspace, w + group * group_weights(g));
  }
}

}  // namespace mangrove::simd
