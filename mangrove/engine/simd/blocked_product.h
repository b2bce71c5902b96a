#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/ceil_div.h"
#include "mangrove/engine/simd/micro_kernels.h"

/// The blocked product: a panel of b stays in the first-level cache, a block of panels in the second, while rows of a
/// pass; the sums of a tile lie in vector registers. (Goto and van de Geijn, Anatomy of High-Performance Matrix
/// Multiplication, 2008)
namespace mangrove::simd {

constexpr std::int64_t kDepth = 256;  // so much of a sum is computed at once
constexpr std::int64_t kWidth = 192;  // columns of a block; a multiple of every tile's columns

/// Both of a product y[m, n] = a[m, k] b[k, n].
struct ProductSize {
  std::int64_t m, n, k;
};

/// For short rows, for which a call of memcpy or memset takes longer than its work. The last four elements of a row are
/// handled together, whether some of them were already or not.
inline void copy(const float* from, std::int64_t count, float* to) {
  if (count < 4) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (std::int64_t i = 0; i + 4 < count; i += 4) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + count - 4, from + count - 4, 16);
}
inline void clear(std::int64_t count, float* to) {
  if (count < 4) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = 0;
    return;
  }
  for (std::int64_t i = 0; i + 4 < count; i += 4) std::memset(to + i, 0, 16);
  std::memset(to + count - 4, 0, 16);
}

/// Rows [first, last) of a, columns [first, last) of b.
struct Block {
  std::int64_t first_row, last_row, first_column, last_column;
};

/// y[m, n] += scale (rows of a) . (rows of b), each of `k` elements, in tiles of dot products. Strides: from row to
/// row.
inline void add_dot_products(const ProductSize& size, float scale, const float* a, std::int64_t a_stride,
                             const float* b, std::int64_t b_stride, float* y, std::int64_t y_stride) {
  const MicroKernels& kernels = micro_kernels();
  for (std::int64_t column = 0; column < size.n; column += kernels.dot_columns) {
    const std::int64_t columns = std::min<std::int64_t>(kernels.dot_columns, size.n - column);
    for (std::int64_t row = 0; row < size.m; row += kernels.dot_rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernels.dot_rows, size.m - row);
      const auto dot = kernels.dot[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(columns - 1)];
      dot(size.k, scale, a + row * a_stride, a_stride, b + column * b_stride, b_stride, y + row * y_stride + column,
          y_stride);
    }
  }
}

/// Whether the columns of a row lie next to each other.
inline bool is_contiguous(std::span<const std::int64_t> offsets) {
  return offsets.back() - offsets.front() == static_cast<std::int64_t>(offsets.size()) - 1;
}

/// y[r, offsets[c]] = tile[r, c], or += where `adds`. Strides: from row to row.
inline void scatter(std::int64_t rows, std::span<const std::int64_t> offsets, const float* tile,
                    std::int64_t tile_stride, bool adds, float* y, std::int64_t y_stride) {
  for (std::int64_t r = 0; r < rows; ++r, tile += tile_stride, y += y_stride) {
    const float* from = tile;
    for (const std::int64_t offset : offsets) {
      y[offset] = adds ? y[offset] + *from : *from;
      ++from;
    }
  }
}

/// Tells the factors that rows of a block are complete: each row in runs of columns that lie next to each other.
template <class Factors>
void finish_block(const Factors& factors, const Block& block, std::span<const std::int64_t> offsets) {
  for (std::size_t first = 0, last = 1; first < offsets.size(); first = last++) {
    while (last < offsets.size() && offsets[last] == offsets[last - 1] + 1) ++last;
    for (std::int64_t row = block.first_row; row < block.last_row; ++row)
      factors.finish(row, offsets[first], static_cast<std::int64_t>(last - first));
  }
}

/// Computes one block of a product. Factors says what is multiplied and where results lie:
///   const float* rows(row, rows, k, depth, float* scratch)    packed [depth, rows], in the scratch space or elsewhere
///   void pack_panel(column, columns, k, depth, float* packed) as [depth, tile columns], zeros behind the last column
///   float* row(row)                                           of y
///   void offsets(column, std::span<std::int64_t> to)          of columns from this one on, in a row of y; they rise
///   bool adds()                                               to what is in y
///   void finish(row, offset, count)                           these results are complete
template <class Factors>
void multiply_block(const Factors& factors, const Block& block, std::int64_t depth_of_all, std::int64_t row_stride) {
  const MicroKernels& kernels = micro_kernels();
  alignas(64) std::array<float, kDepth * kWidth> panels;
  alignas(64) std::array<float, kDepth * MicroKernels::kMaxRows> scratch;
  alignas(64) std::array<float, MicroKernels::kMaxResults> tile;
  std::array<std::int64_t, kWidth> every_offset;
  const std::int64_t width = block.last_column - block.first_column;
  const auto offsets = std::span(every_offset).first(static_cast<std::size_t>(width));
  factors.offsets(block.first_column, offsets);
  const auto columns_at = [&](std::int64_t j) { return std::min<std::int64_t>(kernels.columns, width - j); };

  std::int64_t k = 0;
  do {
    const std::int64_t depth = std::min(kDepth, depth_of_all - k);
    const bool adds = k > 0 || factors.adds();
    for (std::int64_t j = 0; j < width; j += kernels.columns)
      factors.pack_panel(block.first_column + j, columns_at(j), k, depth, panels.data() + j * depth);
    for (std::int64_t row = block.first_row; row < block.last_row; row += kernels.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernels.rows, block.last_row - row);
      const auto multiply = kernels.multiply[static_cast<std::size_t>(rows - 1)];
      const float* a = factors.rows(row, rows, k, depth, scratch.data());
      float* y = factors.row(row);
      for (std::int64_t j = 0; j < width; j += kernels.columns) {
        const auto to = offsets.subspan(static_cast<std::size_t>(j), static_cast<std::size_t>(columns_at(j)));
        const float* b = panels.data() + j * depth;
        if (columns_at(j) == kernels.columns && is_contiguous(to)) {
          multiply(depth, a, b, y + to[0], row_stride, adds);
        } else {
          multiply(depth, a, b, tile.data(), kernels.columns, false);
          scatter(rows, to, tile.data(), kernels.columns, adds, y, row_stride);
        }
      }
    }
    k += depth;
  } while (k < depth_of_all);
  finish_block(factors, block, offsets);
}

/// The whole product, in blocks that the threads share. Each result is one thread's, in an order that the number of
/// threads does not change.
template <class Factors>
void multiply_blocks(const Factors& factors, const ProductSize& size, std::int64_t row_stride, int threads) {
  if (size.m == 0 || size.n == 0) return;
  const MicroKernels& kernels = micro_kernels();
  const std::int64_t panels = ceil_div(size.n, kernels.columns), tiles_high = ceil_div(size.m, kernels.rows);
  std::int64_t across = ceil_div(size.n, kWidth);
  if (across >= threads) across = ceil_div(across, threads) * threads;
  across = std::min(across, panels);
  const std::int64_t width = ceil_div(panels, across) * kernels.columns;
  across = ceil_div(size.n, width);
  const std::int64_t height = ceil_div(tiles_high, std::min(ceil_div(threads, across), tiles_high)) * kernels.rows;
  const std::int64_t down = ceil_div(size.m, height);
  in_parallel(across * down, threads, [&](std::int64_t i) {
    const std::int64_t row = i % down * height, column = i / down * width;
    multiply_block(factors, {row, std::min(row + height, size.m), column, std::min(column + width, size.n)}, size.k,
                   row_stride);
  });
}

}  // namespace mangrove::simd
