#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/engine/simd/direct_convolution.h"
#include "mangrove/engine/simd/weight_order.h"

/// Maps over so few positions that they would leave the tiles of a product almost empty, as in the last layers for one
/// small image. Here channels of the result are next to each other in a vector, and positions are the rows of a tile.
namespace mangrove::simd {

/// Whether so many positions, of all images, are few.
bool are_few_positions(std::int64_t positions);

/// Elements of one group's weights, and how they are packed: [blocks of the sum, tiles of results, elements of the sum,
/// results], with zeros behind the last result. A sum goes over (tap, source channel).
std::int64_t few_positions_elements(const WeightOrder& order, std::int64_t taps);
void pack_for_few_positions(const WeightOrder& order, const std::vector<Tap>& taps, int threads, const float* weights,
                            float* packed);
void unpack_from_few_positions(const WeightOrder& order, const std::vector<Tap>& taps, const float* packed,
                               float* weights);

/// Elements of scratch space that one thread needs.
std::int64_t few_positions_scratch();
void map_few_positions(const GridMap& map, std::int64_t images, int threads, float* workspace);

}  // namespace mangrove::simd
