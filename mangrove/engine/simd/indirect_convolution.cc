#include "mangrove/engine/simd/indirect_convolution.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/padded_rows.h"
#include "mangrove/engine/simd/scratch_ranges.h"
#include "mangrove/engine/simd/strips.h"

namespace mangrove::simd {
namespace {

/// A vector of positions.
struct Piece {
  std::int64_t source, result, count;
};

// ---- the map

/// One thread's work on a map, on one strip of rows after another.
class IndirectMap {
 public:
  IndirectMap(const GridMap& map, const PaddedRows& padded, std::int64_t most_rows,
              std::span<const std::int64_t> offsets, float* copy)
      : map_(map), padded_(padded), plane_(padded.plane(most_rows)), offsets_(offsets), copy_(copy) {
    std::fill_n(copy, map.source.channels * plane_, 0.0f);
  }

  void compute(const Strip& strip) {
    const Grid& grid = map_.grid;
    for (std::int64_t c = 0; c < map_.source.channels; ++c) {
      padded_.fill(map_.x + strip.image * map_.source.image_stride + c * map_.source.plane, strip.first_row, strip.rows,
                   copy_ + c * plane_);
    }
    pieces_.clear();
    const std::int64_t result = strip.image * map_.result.image_stride + grid.first + strip.first_row * grid.row_step;
    const std::int64_t lanes = micro_kernels().lanes;
    for (std::int64_t row = 0; row < strip.rows; ++row) {
      for (std::int64_t column = 0; column < grid.columns; column += lanes) {
        pieces_.push_back({row * padded_.row + column, result + row * grid.row_step + column,
                           std::min(lanes, grid.columns - column)});
      }
    }
    const auto sum = static_cast<std::int64_t>(offsets_.size());
    for (std::int64_t k = 0; k < sum; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, sum - k);
      const std::size_t vectors = static_cast<std::size_t>(micro_kernels().columns) / static_cast<std::size_t>(lanes);
      for (std::size_t piece = 0; piece < pieces_.size(); piece += vectors)
        multiply_tiles(std::span(pieces_).subspan(piece, std::min(vectors, pieces_.size() - piece)), k, depth,
                       strip.first_channel, strip.last_channel);
    }
    for (std::int64_t channel = strip.first_channel; channel < strip.last_channel; ++channel)
      finish_results(map_, channel, channel * map_.result.plane + result, strip.rows * grid.columns);
  }

 private:
  /// One tile of positions, for all channels.
  void multiply_tiles(std::span<const Piece> pieces, std::int64_t k, std::int64_t depth, std::int64_t first_channel,
                      std::int64_t last_channel) {
    const MicroKernels& kernels = micro_kernels();
    alignas(64) std::array<float, MicroKernels::kMaxResults> tile{};
    std::array<const float*, MicroKernels::kMaxVectors> sources;
    std::array<float*, MicroKernels::kMaxVectors> results;
    const auto vectors = static_cast<std::size_t>(kernels.columns / kernels.lanes);
    bool is_whole = pieces.size() == vectors;
    for (std::size_t v = 0; v < vectors; ++v) {
      const Piece& piece = pieces[std::min(v, pieces.size() - 1)];
      sources[v] = copy_ + piece.source;
      is_whole = is_whole && piece.count == kernels.lanes;
    }
    for (std::int64_t channel = first_channel; channel < last_channel; channel += kernels.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernels.rows, last_channel - channel);
      const auto multiply = kernels.multiply_indirect[static_cast<std::size_t>(rows - 1)];
      const float* a = map_.packed + k * map_.result.channels + channel * depth;
      float* y = map_.y + channel * map_.result.plane;
      if (is_whole) {
        for (std::size_t v = 0; v < vectors; ++v) results[v] = y + pieces[v].result;
        multiply(depth, a, sources.data(), offsets_.data() + k, results.data(), map_.result.plane, k > 0);
        continue;
      }
      for (std::size_t v = 0; v < vectors; ++v) results[v] = tile.data() + v * static_cast<std::size_t>(kernels.lanes);
      if (k > 0) move_results(pieces, rows, y, tile.data(), [](float& of_y, float& of_tile) { of_tile = of_y; });
      multiply(depth, a, sources.data(), offsets_.data() + k, results.data(), kernels.columns, k > 0);
      move_results(pieces, rows, y, tile.data(), [](float& of_y, float& of_tile) { of_y = of_tile; });
    }
  }

  /// move(element of y, element of the tile) for each result of some pieces.
  template <class Move>
  void move_results(std::span<const Piece> pieces, std::int64_t rows, float* y, float* tile, const Move& move) const {
    for (std::size_t v = 0; v < pieces.size(); ++v) {
      for (std::int64_t r = 0; r < rows; ++r) {
        float* of_y = y + r * map_.result.plane + pieces[v].result;
        float* of_tile = tile + r * micro_kernels().columns + static_cast<std::int64_t>(v) * micro_kernels().lanes;
        for (std::int64_t i = 0; i < pieces[v].count; ++i) move(of_y[i], of_tile[i]);
      }
    }
  }

  const GridMap& map_;
  const PaddedRows& padded_;
  const std::int64_t plane_;
  const std::span<const std::int64_t> offsets_;  // in the copy, of each element of the sum
  float* const copy_;
  std::vector<Piece> pieces_;
};

// ---- the gradient of weights

/// Positions whose products are summed at once: of whole images, or of some rows of one.
struct PositionBlock {
  std::int64_t images, rows;
};

PositionBlock largest_block(const Grid& grid, std::int64_t result_channels, std::int64_t batch) {
  constexpr std::int64_t kElements = 65536;
  const std::int64_t positions = std::clamp<std::int64_t>(kElements / result_channels, 64, 1024);
  if (grid.positions() <= positions) return {std::min(positions / grid.positions(), batch), grid.rows};
  return {1, std::min(grid.rows, ceil_div(positions, grid.columns))};
}

/// Rows of the result fill vectors: they are read where they lie.
bool fills_vectors(const Grid& grid) {
  return grid.columns % micro_kernels().lanes == 0;
}

/// One thread's work on the gradient, for one block of positions after another.
class BlockCorrelation {
 public:
  BlockCorrelation(const Grid& grid, const PaddedRows& padded, const Planes& source, const Planes& result,
                   const PositionBlock& most, float* scratch)
      : grid_(grid),
        padded_(padded),
        source_(source),
        result_(result),
        plane_(padded.plane(most.rows)),
        width_(most.images * most.rows * padded.pieces * micro_kernels().lanes),
        x_rows_(scratch),
        y_rows_(scratch + most.images * plane_) {
    std::fill_n(x_rows_, most.images * plane_, 0.0f);
    if (!fills_vectors(grid)) std::fill_n(y_rows_, result.channels * width_, 0.0f);
    const auto taps = static_cast<std::int64_t>(grid.taps.size());
    taps_at_once_ = ceil_div(taps, ceil_div(taps, micro_kernels().dot_columns));
  }

  /// For channels [first_channel, last_channel) of x and [first_result, last_result) of y. x, y: at the first image of
  /// the block. first_row: of the block, if it is a part of an image.
  void add(const float* x, const float* y, const PositionBlock& block, std::int64_t first_row,
           std::int64_t first_channel, std::int64_t last_channel, std::int64_t first_result, std::int64_t last_result,
           float* w) {
    set_pieces(block, first_row);
    const float* rows = y;
    std::int64_t stride = result_.plane;
    if (!fills_vectors(grid_)) {
      copy_results(y, block, first_row, first_result, last_result);
      rows = y_rows_;
      stride = width_;
    }
    const MicroKernels& kernels = micro_kernels();
    const auto taps = static_cast<std::int64_t>(grid_.taps.size()), k = source_.channels * taps;
    for (std::int64_t c = first_channel; c < last_channel; ++c) {
      for (std::int64_t i = 0; i < block.images; ++i)
        padded_.fill(x + i * source_.image_stride + c * source_.plane, first_row, block.rows, x_rows_ + i * plane_);
      for (std::int64_t m = first_result; m < last_result; m += kernels.dot_rows) {
        const std::int64_t height = std::min<std::int64_t>(kernels.dot_rows, last_result - m);
        for (std::int64_t tap = 0; tap < taps; tap += taps_at_once_) {
          const std::int64_t width = std::min(taps_at_once_, taps - tap);
          std::array<const float*, MicroKernels::kMaxDotColumns> starts{};
          for (std::int64_t t = 0; t < width; ++t)
            starts[static_cast<std::size_t>(t)] =
                x_rows_ + padded_.offset(grid_.taps[static_cast<std::size_t>(tap + t)]);
          const auto dot =
              kernels.dot_indirect[static_cast<std::size_t>(height - 1)][static_cast<std::size_t>(width - 1)];
          dot(static_cast<std::int64_t>(of_x_.size()), rows + m * stride, stride, of_y_.data(), starts.data(),
              of_x_.data(), w + m * k + c * taps + tap, k);
        }
      }
    }
  }

 private:
  void set_pieces(const PositionBlock& block, std::int64_t first_row) {
    of_x_.clear();
    of_y_.clear();
    const std::int64_t lanes = micro_kernels().lanes;
    const bool reads_y = fills_vectors(grid_);
    for (std::int64_t image = 0; image < block.images; ++image) {
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::int64_t piece = 0; piece < padded_.pieces; ++piece) {
          of_x_.push_back(image * plane_ + row * padded_.row + piece * lanes);
          of_y_.push_back(reads_y ? image * result_.image_stride + (first_row + row) * grid_.columns + piece * lanes
                                  : ((image * block.rows + row) * padded_.pieces + piece) * lanes);
        }
      }
    }
  }

  /// With zeros behind each row.
  void copy_results(const float* y, const PositionBlock& block, std::int64_t first_row, std::int64_t first_result,
                    std::int64_t last_result) {
    const std::int64_t row = padded_.pieces * micro_kernels().lanes;
    for (std::int64_t m = first_result; m < last_result; ++m) {
      for (std::int64_t image = 0; image < block.images; ++image) {
        micro_kernels().copy({y + image * result_.image_stride + m * result_.plane + first_row * grid_.columns,
                              block.rows, grid_.columns, grid_.columns},
                             y_rows_ + m * width_ + image * block.rows * row, row);
      }
    }
  }

  const Grid& grid_;
  const PaddedRows& padded_;
  const Planes &source_, &result_;
  const std::int64_t plane_, width_;
  float *const x_rows_, *const y_rows_;
  std::int64_t taps_at_once_;
  std::vector<std::int64_t> of_x_, of_y_;  // where vectors of positions lie
};

}  // namespace

bool suits_indirect(const Grid& grid, const MapShape&) {
  const std::int64_t lanes = micro_kernels().lanes, filled = ceil_div(grid.columns, lanes) * lanes;
  return grid.taps.size() > 1 && grid.step == Window::Pair{1, 1} && grid.column_step == 1 &&
         grid.row_step == grid.columns && 4 * grid.columns >= 3 * filled;
}

std::int64_t indirect_scratch(const Grid& grid, std::int64_t source_channels) {
  const PaddedRows padded(grid);
  return source_channels * padded.plane(rows_at_once(grid, padded, source_channels, 1));
}

std::int64_t indirect_gradient_scratch(const Grid& grid, std::int64_t result_channels, std::int64_t batch) {
  const PaddedRows padded(grid);
  const PositionBlock most = largest_block(grid, result_channels, batch);
  const std::int64_t y_rows = most.images * most.rows * padded.pieces * micro_kernels().lanes;
  return most.images * padded.plane(most.rows) + (fills_vectors(grid) ? 0 : result_channels * y_rows);
}

void map_indirect(const GridMap& map, std::int64_t images, int threads, float* workspace) {
  const PaddedRows padded(map.grid);
  const std::int64_t most = rows_at_once(map.grid, padded, map.source.channels, 1);
  std::vector<std::int64_t> offsets;
  for (const Tap& tap : map.grid.taps) {
    for (std::int64_t c = 0; c < map.source.channels; ++c)
      offsets.push_back(padded.offset(tap) + c * padded.plane(most));
  }
  compute_strips(map, images, threads, most, 1, map.source.channels * padded.plane(most), workspace,
                 [&](float* copy) { return IndirectMap(map, padded, most, offsets, copy); });
}

void correlate_indirect(const Grid& grid, const Planes& source, const Planes& result, std::int64_t batch,
                        std::int64_t images, int threads, const float* x, const float* y, float* workspace, float* w) {
  const PaddedRows padded(grid);
  const PositionBlock most = largest_block(grid, result.channels, batch);
  const std::int64_t height = micro_kernels().dot_rows, tiles = ceil_div(result.channels, height);
  // where there are fewer channels than threads, the results are shared too
  const std::int64_t parts = std::min(ceil_div(threads, source.channels), tiles);
  const std::int64_t shares = std::min(source.channels, std::max<std::int64_t>(threads / parts, 1));
  in_parallel(shares * parts, threads, [&](std::int64_t i) {
    const std::int64_t share = i / parts, part = i % parts;
    BlockCorrelation correlation(grid, padded, source, result, most,
                                 workspace + i * whole_lines(indirect_gradient_scratch(grid, result.channels, batch)));
    for (std::int64_t image = 0; image < images; image += most.images) {
      for (std::int64_t row = 0; row < grid.rows; row += most.rows) {
        correlation.add(x + image * source.image_stride, y + image * result.image_stride,
                        {std::min(most.images, images - image), std::min(most.rows, grid.rows - row)}, row,
                        source.channels * share / shares, source.channels * (share + 1) / shares,
                        tiles * part / parts * height, std::min(tiles * (part + 1) / parts * height, result.channels),
                        w);
      }
    }
  });
}

}  // namespace mangrove::simd
