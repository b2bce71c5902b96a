#pragma once

#include <cstdint>

#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/finish.h"

/// Maps whose taps are read where they lie, in a copy of some rows of the image with zeros around them: no matrix of
/// what each tap reads is made, as im2col does. (Dukhan, The Indirect Convolution Algorithm, 2019)
namespace mangrove::simd {

/// Images of one group, as one of the maps reads and writes them.
struct Planes {
  std::int64_t channels;      // of the group
  std::int64_t plane;         // elements
  std::int64_t image_stride;  // of all groups
};

/// One group's map over a grid. The weights are packed as WeightOrder says.
struct GridMap {
  const Grid& grid;
  Planes source, result;
  const float* x;
  const float* packed;
  Finish finish;
  float* y;
};

/// Finishes `count` results of a channel, the first of which lies at y[at].
void finish_results(const GridMap& map, std::int64_t channel, std::int64_t at, std::int64_t count);

/// Whether a grid's positions lie as close as what they read and fill vectors well, and several taps read each element.
bool is_direct(const Grid& grid);

/// Elements of scratch space that one thread needs.
std::int64_t direct_map_scratch(const Grid& grid, std::int64_t source_channels);
std::int64_t direct_correlate_scratch(const Grid& grid, std::int64_t result_channels, std::int64_t batch);

void direct_map(const GridMap& map, std::int64_t images, int threads, float* workspace);

/// w[m, k] += (channel m of y) . (row k of x as its taps read it), row k being (channel, tap). images: of a slice of
/// the batch.
void direct_correlate(const Grid& grid, const Planes& source, const Planes& result, std::int64_t batch,
                      std::int64_t images, int threads, const float* x, const float* y, float* workspace, float* w);

}  // namespace mangrove::simd
