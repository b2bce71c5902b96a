#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::simd {

/// The weights of one group's map, as the tiles of the blocked product read them: [blocks of the sum, tiles of rows,
/// elements of the sum, rows of a tile]. A sum goes over (tap, source channel).
struct WeightOrder {
  std::int64_t results, sources;              // channels
  std::int64_t result_stride, source_stride;  // in the plain weights; a tap's is 1

  /// Calls visit(where the weights of a tile of rows at one element of the sum lie, rows, plain index of the first).
  template <class Visit>
  void for_each_column(const std::vector<Tap>& taps, std::int64_t first_row, Visit visit) const {
    const std::int64_t rows = std::min<std::int64_t>(micro_kernels().rows, results - first_row);
    const std::int64_t sum = sources * static_cast<std::int64_t>(taps.size());
    std::int64_t k = 0;
    for (const Tap& tap : taps) {
      for (std::int64_t source = 0; source < sources; ++source, ++k) {
        const std::int64_t block = k / kDepth * kDepth, depth = std::min(kDepth, sum - block);
        visit(block * results + first_row * depth + (k - block) * rows, rows,
              first_row * result_stride + source * source_stride + tap.weight);
      }
    }
  }
};

WeightOrder forward_order(const ConvGeometry& geometry);
WeightOrder transposed_order(const ConvGeometry& geometry);

}  // namespace mangrove::simd
