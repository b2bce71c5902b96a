#include "mangrove/tensor/view_grid.h"

namespace mangrove {
namespace {

/// Where part `at` of `parts` begins.
std::int64_t begin_of(std::int64_t at, std::int64_t parts, std::int64_t side, std::int64_t size) {
  return parts == 1 ? 0 : at * (side - size) / (parts - 1);
}

}  // namespace

std::vector<ImagePart> view_grid(std::int64_t views, std::int64_t height, std::int64_t width) {
  std::int64_t rows = 1;
  for (std::int64_t n = 2; n * n <= views; ++n)
    if (views % n == 0) rows = n;
  const std::int64_t columns = views / rows;
  const std::int64_t tall = (height + rows - 1) / rows, wide = (width + columns - 1) / columns;
  std::vector<ImagePart> parts;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t top = begin_of(row, rows, height, tall), left = begin_of(column, columns, width, wide);
      parts.push_back({top, top + tall, left, left + wide});
    }
  }
  return parts;
}

}  // namespace mangrove
