#pragma once

#include <cstdint>

#include "mangrove/engine/simd/grid_map.h"
#include "mangrove/engine/simd/map_shape.h"
#include "mangrove/engine/simd/weight_order.h"

namespace mangrove::simd {

/// One way to compute the map over a grid: a row of the table in grid_algorithm.cc. Sizes are in elements.
struct GridAlgorithm {
  const char* weights;  // how they lie when they are packed, in words
  bool (*suits)(const Grid& grid, const MapShape& shape);

  /// The weights of one group.
  std::int64_t (*packed_elements)(const Grid& grid, const WeightOrder& order);
  void (*pack)(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed);
  void (*unpack)(const Grid& grid, const WeightOrder& order, const float* packed, float* weights);

  std::int64_t (*scratch)(const Grid& grid, std::int64_t source_channels);  // of one thread
  /// images: how many lie at the map's x and y. workspace: the scratch space of all threads, each in whole lines.
  void (*map)(const GridMap& map, std::int64_t images, int threads, float* workspace);
};

/// Returns the first of the table that suits; the last suits every grid.
const GridAlgorithm& choose_algorithm(const Grid& grid, const MapShape& shape);

}  // namespace mangrove::simd
