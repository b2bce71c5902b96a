#pragma once

#include <string>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/simd/convolution_grids.h"
#include "mangrove/engine/simd/weight_order.h"

namespace mangrove::simd {

/// The layout of a convolution's weights, of all groups, that were packed when they were loaded.
class PackedWeights : public Layout {
 public:
  explicit PackedWeights(const ConvolutionGrids& grids);

  Bytes bytes() const override;
  bool equals(const Layout& other) const override;
  std::string describe() const override;

  void pack(const float* plain, float* packed) const;
  /// Weights that Winograd's algorithm has transformed come back with rounding errors.
  void unpack(const float* packed, float* plain) const;

 private:
  std::int64_t plain_elements() const;  // of one group
  std::int64_t packed_elements() const;

  std::int64_t groups_;
  WeightOrder order_;
  Grid grid_;
};

}  // namespace mangrove::simd
