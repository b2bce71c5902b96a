#pragma once

#include <cstdint>

#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/map_shape.h"
#include "mangrove/engine/simd/weight_order.h"

/// Convolutions 3x3 without strides, with 16 products for 4 results in place of 36: F(2x2, 3x3). They round otherwise
/// than the definition, by 1e-6 to 3e-6 of the largest value. (Lavin and Gray, Fast algorithms for convolutional neural
/// networks, 2016)
namespace mangrove::simd {

/// Whether a grid's map can be computed so, and is expected to be faster.
bool suits_winograd(const Grid& grid, const MapShape& shape);

/// Weights of one group, transformed: as [products] in tiles of rows, each with a sum over source channels.
std::int64_t winograd_elements(const Grid& grid, const WeightOrder& order);
void pack_for_winograd(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed);
/// With rounding errors.
void unpack_from_winograd(const Grid& grid, const WeightOrder& order, const float* packed, float* weights);

/// Elements of scratch space that one thread needs.
std::int64_t winograd_scratch(const Grid& grid, std::int64_t source_channels);
void map_winograd(const GridMap& map, std::int64_t images, int threads, float* workspace);

}  // namespace mangrove::simd
