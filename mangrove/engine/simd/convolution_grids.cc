#include "mangrove/engine/simd/convolution_grids.h"

#include <utility>

#include "mangrove/engine/simd/direct_convolution.h"
#include "mangrove/engine/simd/few_positions.h"
#include "mangrove/engine/simd/winograd.h"

namespace mangrove::simd {
namespace {

MapAlgorithm algorithm_for(const Grid& grid, std::int64_t batch, std::int64_t source_channels,
                           std::int64_t result_channels, bool fast) {
  if (fast && winograd_pays(grid, source_channels, result_channels)) return MapAlgorithm::winograd;
  if (is_direct(grid)) return MapAlgorithm::direct;
  return are_few_positions(batch * grid.positions()) ? MapAlgorithm::few_positions : MapAlgorithm::gathered;
}

}  // namespace

ConvolutionGrids::ConvolutionGrids(const ConvGeometry& of, bool fast)
    : geometry(of), forward(forward_grid(of)), transposed(transposed_grids(of)) {
  if (is_depthwise(of)) return;
  const std::int64_t inputs = of.input_channels_per_group(), outputs = of.output_channels_per_group();
  forward = joined(std::move(forward));
  forward.algorithm = algorithm_for(forward, of.batch, inputs, outputs, fast);
  for (Grid& grid : transposed) {
    grid = joined(std::move(grid));
    grid.algorithm = algorithm_for(grid, of.batch, outputs, inputs, fast);
  }
}

}  // namespace mangrove::simd
