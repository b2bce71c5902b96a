#pragma once

#include <cstdint>

#include "mangrove/engine/simd/direct_convolution.h"
#include "mangrove/engine/simd/weight_order.h"

/// Convolutions 3x3 without strides, with 16 products for 4 results in place of 36: F(2x2, 3x3). They round otherwise
/// than the definition, by about 1e-6 of the largest value. (Lavin and Gray, Fast algorithms for convolutional neural
/// networks, 2016)
namespace mangrove::simd {

/// Whether a grid's map can be computed so, and is expected to be faster. It depends on shapes alone, so that the same
/// network gives the same bits whatever else the machine does.
bool winograd_pays(const Grid& grid, std::int64_t source_channels, std::int64_t result_channels);

/// Transformed weights of one group: elements, and how they are made and changed back.
std::int64_t winograd_elements(const WeightOrder& order);
void winograd_pack(const WeightOrder& order, const std::vector<Tap>& taps, int threads, const float* weights,
                   float* packed);
void winograd_unpack(const WeightOrder& order, const std::vector<Tap>& taps, const float* packed, float* weights);

/// Elements of scratch space that one thread needs.
std::int64_t winograd_scratch(const Grid& grid, std::int64_t source_channels);
void winograd_map(const GridMap& map, std::int64_t images, int threads, float* workspace);

}  // namespace mangrove::simd
