#pragma once

#include <cstddef>

#include "mangrove/graph/tiled_node.h"

/// What operators need for a region that read the neighbourhood of each place, or another place: the lower part of the
/// table in tile_rules.cc. None: there cannot be tiles of the node.
namespace mangrove::tile_rules {

/// Conv and its like. weights: the position of that input.
TileReads convolution(const TiledNode& at, std::size_t weights);
/// ConvTranspose.
TileReads transposed_convolution(const TiledNode& at);
/// MaxPool and AveragePool.
TileReads pooling(const TiledNode& at);
TileReads slice(const TiledNode& at);
TileReads pad(const TiledNode& at);
TileReads resize(const TiledNode& at);
TileReads depth_to_space(const TiledNode& at);
TileReads space_to_depth(const TiledNode& at);

}  // namespace mangrove::tile_rules
