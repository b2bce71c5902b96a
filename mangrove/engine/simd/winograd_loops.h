#pragma once

#include <cstdint>

/// The transforms of Winograd's convolution F(2x2, 3x3), for one vector of tiles at once, in the vector instructions of
/// the processor that the program runs on. A tile is 2x2 results. Half of the vector's tiles lie next to each other in
/// a row of tiles, and so does the other half; these may be other rows. They may be called from any thread.
namespace mangrove::simd {

constexpr std::int64_t kTransformed = 16;  // products of a tile

struct WinogradLoops {
  /// For each of some channels, `plane` elements apart: the 4x4 elements that each tile reads, transformed. halves:
  /// where the first tile of each half begins; `row`: elements from row to row. Product p of channel c goes to to[p *
  /// product_stride + c * channel_stride], a vector.
  void (*transform_source)(std::int64_t channels, const float* const* halves, std::int64_t plane, std::int64_t row,
                           float* to, std::int64_t product_stride, std::int64_t channel_stride);
  /// For each of some channels: 2x2 results of each tile from its products, which lie as above. Row i of half h goes to
  /// rows[2 * h + i], the rows of the next channel lie `plane` elements behind.
  void (*transform_result)(std::int64_t channels, const float* from, std::int64_t product_stride,
                           std::int64_t channel_stride, float* const* rows, std::int64_t plane);
};

/// Returns the loops in the best instructions that this processor has; null where it has no vectors.
const WinogradLoops* winograd_loops();

}  // namespace mangrove::simd
