#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/graph/conv_geometry.h"

namespace mangrove::simd {

/// A tap of the kernel: position (i, j) reads the source at (i * step + row, j * step + column).
struct Tap {
  std::int64_t row, column;
  std::int64_t weight;  // which of the kernel's it is
};

struct GridAlgorithm;

/// A grid of positions over planes of a source, and where their results lie.
struct Grid {
  std::int64_t rows, columns;                 // of positions
  Window::Pair step;                          // in the source, from one position to the next
  std::int64_t source_rows, source_columns;   // of a plane
  std::int64_t first, row_step, column_step;  // in a plane of results
  std::vector<Tap> taps;
  const GridAlgorithm* algorithm = nullptr;  // that computes it; none for depthwise convolutions

  std::int64_t positions() const { return rows * columns; }
};

/// Describes the convolution itself.
Grid forward_grid(const ConvGeometry& geometry);

/// Describes the transpose as convolutions without strides: one for each remainder that rows and columns leave when
/// they are divided by the stride, with those of the taps that meet it. Together they write each element once. (Shi et
/// al., Is the deconvolution layer the same as a convolutional layer?, 2016)
std::vector<Grid> transposed_grids(const ConvGeometry& geometry);

/// Puts all rows into one where a single tap reads each element once; other grids come back as they are.
Grid joined(Grid grid);

/// Whether each result channel sees one channel of the input: then there are no sums over channels that a product could
/// compute.
bool is_depthwise(const ConvGeometry& geometry);

}  // namespace mangrove::simd
