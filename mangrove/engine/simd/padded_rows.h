#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {

/// How rows of the source lie in the copy: with the zeros that taps read on the left and on the right, and with so many
/// elements that a vector may begin at any position. What it reads for positions behind the last column is not used.
struct PaddedRows {
  explicit PaddedRows(const Grid& grid) : PaddedRows(std::span(&grid, 1)) {}
  /// For all of some grids over one source; there is one at least.
  explicit PaddedRows(std::span<const Grid> grids)
      : source_rows(grids[0].source_rows), source_columns(grids[0].source_columns) {
    for (const Grid& grid : grids) {
      columns = std::max(columns, grid.columns);
      for (const Tap& tap : grid.taps) {
        first_row = std::min(first_row, tap.row);
        last_row = std::max(last_row, tap.row);
        first_column = std::min(first_column, tap.column);
        last_column = std::max(last_column, tap.column);
      }
    }
    pieces = ceil_div(columns, micro_kernels().lanes);
    row = pieces * micro_kernels().lanes + last_column - first_column;
  }

  /// Elements of a channel for so many rows of positions: an odd number of cache lines, so that channels do not meet in
  /// the same sets of a cache.
  std::int64_t plane(std::int64_t rows) const {
    constexpr std::int64_t kLine = 16;
    return (ceil_div((rows + last_row - first_row) * row, kLine) | 1) * kLine;
  }

  std::int64_t offset(const Tap& tap) const { return (tap.row - first_row) * row + tap.column - first_column; }

  /// Copies what positions in rows [first, first + rows) read of one channel. The columns around it must be zero.
  void fill(const float* plane, std::int64_t first, std::int64_t rows, float* to) const {
    const std::int64_t begin = first + first_row, total = rows + last_row - first_row;
    const std::int64_t above = std::clamp<std::int64_t>(-begin, 0, total);  // rows above the image
    const std::int64_t inside = std::clamp(source_rows - begin, above, total) - above;
    std::fill_n(to, above * row, 0.0f);
    std::fill_n(to + (above + inside) * row, (total - above - inside) * row, 0.0f);
    if (inside == 0) return;
    micro_kernels().copy({plane + (begin + above) * source_columns, inside,
                          std::min(source_columns, columns + last_column), source_columns},
                         to + above * row - first_column, row);
  }

  std::int64_t source_rows, source_columns;                                     // of a plane of the source
  std::int64_t columns = 0;                                                     // of positions
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;  // that taps read, and 0
  std::int64_t pieces;                                                          // vectors in a row of positions
  std::int64_t row;                                                             // elements in a row of the copy
};

}  // namespace mangrove::simd
