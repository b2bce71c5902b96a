#pragma once

#include <cstdint>

#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/map_shape.h"

/// Maps over so few positions that they would leave the tiles of a product almost empty, as in the last layers for one
/// small image. Here channels of the result are next to each other in a vector, and positions are the rows of a tile.
namespace mangrove::simd {

bool suits_few_positions(const Grid& grid, const MapShape& shape);

/// Elements of scratch space that one thread needs. Weights are packed in tiles of columns.
std::int64_t few_positions_scratch(const Grid& grid, std::int64_t source_channels);
void map_few_positions(const GridMap& map, std::int64_t images, int threads, float* workspace);

}  // namespace mangrove::simd
