#include "mangrove/engine/simd/convolution_grids.h"

#include <utility>

#include "mangrove/engine/simd/grid_algorithm.h"

namespace mangrove::simd {
ConvolutionGrids::ConvolutionGrids(const ConvGeometry& of, bool fast)
    : geometry(of), forward(forward_grid(of)), transposed(transposed_grids(of)) {
  if (is_depthwise(of)) return;
  const std::int64_t inputs = of.input_channels_per_group(), outputs = of.output_channels_per_group();
  forward = joined(std::move(forward));
  forward.algorithm = &choose_algorithm(forward, {of.batch, inputs, outputs, fast});
  for (Grid& grid : transposed) {
    grid = joined(std::move(grid));
    grid.algorithm = &choose_algorithm(grid, {of.batch, outputs, inputs, fast});
  }
}

}  // namespace mangrove::simd
