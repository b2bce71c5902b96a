#pragma once

#include <cstdint>

#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/map_shape.h"

/// Maps whose taps are read where they lie, in a copy of some rows of the image with zeros around them: no matrix of
/// what each tap reads is made, as im2col does. (Dukhan, The Indirect Convolution Algorithm, 2019)
namespace mangrove::simd {

/// Whether a grid's positions lie as close as what they read and fill vectors well, and several taps read each element.
bool suits_indirect(const Grid& grid, const MapShape& shape);

/// Elements of scratch space that one thread needs.
std::int64_t indirect_scratch(const Grid& grid, std::int64_t source_channels);
std::int64_t indirect_gradient_scratch(const Grid& grid, std::int64_t result_channels, std::int64_t batch);

void map_indirect(const GridMap& map, std::int64_t images, int threads, float* workspace);

/// The gradient of weights [results, channels, taps], for every grid that suits: w[m, k] += (channel m of y) . (row k
/// of x as its taps read it), row k being (channel, tap). images: of a slice of the batch.
void correlate_indirect(const Grid& grid, const Planes& source, const Planes& result, std::int64_t batch,
                        std::int64_t images, int threads, const float* x, const float* y, float* workspace, float* w);

}  // namespace mangrove::simd
