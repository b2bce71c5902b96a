#pragma once

#include <cstdint>

#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/finish.h"

namespace mangrove::simd {

/// Images of one group, as a map reads or writes them.
struct Planes {
  std::int64_t channels;      // of the group
  std::int64_t plane;         // elements
  std::int64_t image_stride;  // elements of all groups
};

/// One group's map over a grid: results = finish(weights * source).
struct GridMap {
  const Grid& grid;
  Planes source, result;
  const float* x;
  const float* packed;  // weights, as the grid's algorithm packs them
  Finish finish;
  float* y;
};

/// Finishes `count` results of a channel, the first of which lies at y[at].
void finish_results(const GridMap& map, std::int64_t channel, std::int64_t at, std::int64_t count);

}  // namespace mangrove::simd
