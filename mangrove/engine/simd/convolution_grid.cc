#include "mangrove/engine/simd/convolution_grid.h"

#include <algorithm>
#include <utility>

#include "mangrove/engine/simd/ceil_div.h"

namespace mangrove::simd {

Grid joined(Grid grid) {
  if (grid.taps.size() == 1 && grid.taps[0].row == 0 && grid.taps[0].column == 0 && grid.step == Window::Pair{1, 1} &&
      grid.rows == grid.source_rows && grid.columns == grid.source_columns && grid.column_step == 1 &&
      grid.row_step == grid.columns) {
    grid.columns = grid.source_columns = grid.positions();
    grid.rows = grid.source_rows = 1;
  }
  return grid;
}

Grid forward_grid(const ConvGeometry& g) {
  const Window& w = g.window;
  Grid grid{w.output[0], w.output[1], w.strides, w.input[0], w.input[1], 0, w.output[1], 1, {}};
  for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
    for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
      grid.taps.push_back(
          {i * w.dilations[0] - w.pads_begin[0], j * w.dilations[1] - w.pads_begin[1], i * w.kernel[1] + j});
    }
  }
  return grid;
}

std::vector<Grid> transposed_grids(const ConvGeometry& g) {
  const Window& w = g.window;
  std::vector<Grid> grids;
  for (std::int64_t row = 0; row < std::min(w.strides[0], w.input[0]); ++row) {
    for (std::int64_t column = 0; column < std::min(w.strides[1], w.input[1]); ++column) {
      Grid grid{ceil_div(w.input[0] - row, w.strides[0]),
                ceil_div(w.input[1] - column, w.strides[1]),
                {1, 1},
                w.output[0],
                w.output[1],
                row * w.input[1] + column,
                w.strides[0] * w.input[1],
                w.strides[1],
                {}};
      for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
        for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
          const std::int64_t from_row = row + w.pads_begin[0] - i * w.dilations[0];
          const std::int64_t from_column = column + w.pads_begin[1] - j * w.dilations[1];
          if (from_row % w.strides[0] == 0 && from_column % w.strides[1] == 0)
            grid.taps.push_back({from_row / w.strides[0], from_column / w.strides[1], i * w.kernel[1] + j});
        }
      }
      grids.push_back(std::move(grid));
    }
  }
  return grids;
}

bool is_depthwise(const ConvGeometry& g) {
  return g.group > 1 && g.input_channels_per_group() == 1;
}

}  // namespace mangrove::simd
