#pragma once

#include <cstdint>

#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/map_shape.h"

/// Maps as products whose second factor is gathered from the image, block by block, while it is multiplied.
/// (Chellapilla et al., High performance convolutional neural networks for document processing, 2006)
namespace mangrove::simd {

/// Every grid does.
bool suits_im2col(const Grid& grid, const MapShape& shape);

/// Elements of scratch space that one thread needs.
std::int64_t im2col_scratch(const Grid& grid, std::int64_t source_channels);
std::int64_t im2col_gradient_scratch(const Grid& grid, std::int64_t result_channels, std::int64_t batch);

void map_im2col(const GridMap& map, std::int64_t images, int threads, float* workspace);

/// The gradient of weights [results, channels, taps]: w[m, k] += (channel m of y) . (row k of x as its taps read it),
/// row k being (channel, tap). images: of a slice of the batch.
void correlate_im2col(const Grid& grid, const Planes& source, const Planes& result, std::int64_t batch,
                      std::int64_t images, int threads, const float* x, const float* y, float* workspace, float* w);

}  // namespace mangrove::simd
