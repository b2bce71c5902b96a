#pragma once

#include <cstdint>

namespace mangrove::simd {

/// What the choice of an algorithm depends on, besides the grid. It is nothing but shapes, so that the same network
/// gives the same bits whatever else the machine does.
struct MapShape {
  std::int64_t batch, source_channels, result_channels;  // channels of one group
  bool fast;                                             // algorithms may round otherwise than the definition
};

}  // namespace mangrove::simd
