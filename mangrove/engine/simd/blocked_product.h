#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/tiles.h"

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

/// A call of memcpy takes longer than most copies of a row.
inline void copy(const float* from, std::int64_t count, float* to) {
  for (; count >= 4; count -= 4, from += 4, to += 4) std::memcpy(to, from, 16);
  for (; count > 0; --count) *to++ = *from++;
}

/// Rows [first, last) of a, columns [first, last) of b.
struct Block {
  std::int64_t first_row, last_row, first_column, last_column;
};

/// Computes one block of a product. Factors says what is multiplied and where results lie:
///   const float* rows(row, rows, k, depth, float* scratch)    packed [depth, rows], in the scratch space or elsewhere
///   void pack_panel(column, columns, k, depth, float* packed) as [depth, tile columns], zeros behind the last column
///   float* row(row)                                           of y
///   std::int64_t offset(column)                               in a row of y; rises with the column
///   bool adds()                                               to what is in y
///   void finish(row, offset, count)                           these results are complete
template <class Factors>
void multiply_block(const Factors& factors, const Block& block, std::int64_t depth_of_all, std::int64_t row_stride) {
  const Tiles& t = tiles();
  alignas(64) std::array<float, kDepth * kWidth> panels;
  alignas(64) std::array<float, kDepth * Tiles::kMaxRows> scratch;
  alignas(64) std::array<float, Tiles::kMaxRows * 4 * kMaxLanes> tile;
  std::array<std::int64_t, kWidth> offsets;
  const std::int64_t width = block.last_column - block.first_column;
  for (std::int64_t j = 0; j < width; ++j)
    offsets[static_cast<std::size_t>(j)] = factors.offset(block.first_column + j);

  std::int64_t k = 0;
  do {
    const std::int64_t depth = std::min(kDepth, depth_of_all - k);
    const bool adds = k > 0 || factors.adds();
    for (std::int64_t j = 0; j < width; j += t.columns) {
      factors.pack_panel(block.first_column + j, std::min<std::int64_t>(t.columns, width - j), k, depth,
                         panels.data() + j * depth);
    }
    for (std::int64_t row = block.first_row; row < block.last_row; row += t.rows) {
      const std::int64_t rows = std::min<std::int64_t>(t.rows, block.last_row - row);
      const auto multiply = t.multiply[static_cast<std::size_t>(rows - 1)];
      const float* a = factors.rows(row, rows, k, depth, scratch.data());
      float* y = factors.row(row);
      for (std::int64_t j = 0; j < width; j += t.columns) {
        const std::int64_t columns = std::min<std::int64_t>(t.columns, width - j);
        const std::int64_t* to = offsets.data() + j;
        const float* b = panels.data() + j * depth;
        if (columns == t.columns && to[columns - 1] - to[0] == columns - 1) {
          multiply(depth, a, b, y + to[0], row_stride, adds);
          continue;
        }
        multiply(depth, a, b, tile.data(), t.columns, false);
        for (std::int64_t r = 0; r < rows; ++r) {
          const float* from = tile.data() + r * t.columns;
          float* into = y + r * row_stride;
          for (std::int64_t c = 0; c < columns; ++c) into[to[c]] = adds ? into[to[c]] + from[c] : from[c];
        }
      }
    }
    k += depth;
  } while (k < depth_of_all);

  for (std::int64_t j = 0; j < width;) {
    std::int64_t last = j + 1;
    while (last < width && offsets[static_cast<std::size_t>(last)] == offsets[static_cast<std::size_t>(last - 1)] + 1)
      ++last;
    for (std::int64_t row = block.first_row; row < block.last_row; ++row)
      factors.finish(row, offsets[static_cast<std::size_t>(j)], last - j);
    j = last;
  }
}

/// The whole product, in blocks that the threads share. Each result is one thread's, in an order that the number of
/// threads does not change.
template <class Factors>
void multiply_blocks(const Factors& factors, const ProductSize& size, std::int64_t row_stride, int threads) {
  if (size.m == 0 || size.n == 0) return;
  const Tiles& t = tiles();

  const std::int64_t panels = parts_of(size.n, t.columns), tiles_high = parts_of(size.m, t.rows);
  std::int64_t across = parts_of(size.n, kWidth);
  if (across >= threads) across = parts_of(across, threads) * threads;
  across = std::min(across, panels);
  const std::int64_t width = parts_of(panels, across) * t.columns;
  across = parts_of(size.n, width);
  const std::int64_t height = parts_of(tiles_high, std::min(parts_of(threads, across), tiles_high)) * t.rows;
  const std::int64_t down = parts_of(size.m, height);
  in_parallel(across * down, threads, [&](std::int64_t i) {
    const std::int64_t row = i % down * height, column = i / down * width;
    multiply_block(factors, {row, std::min(row + height, size.m), column, std::min(column + width, size.n)}, size.k,
                   row_stride);
  });
}

}  // namespace mangrove::simd
