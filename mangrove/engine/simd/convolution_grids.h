#pragma once

#include <vector>

#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::simd {

/// A convolution with its grids and those of its transpose, as its kernels compute them in each run.
struct ConvolutionGrids {
  /// fast: also by algorithms that round otherwise than the definition.
  ConvolutionGrids(const ConvGeometry& of, bool fast);

  ConvGeometry geometry;
  Grid forward;
  std::vector<Grid> transposed;
};

}  // namespace mangrove::simd
