#include "mangrove/graph/tile_axis.h"

#include <algorithm>

namespace mangrove {
namespace {

using Kind = TileAxis::Kind;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return -floor_div(-a, b);
}

std::int64_t first_tap(const TileAxis& axis, std::int64_t row) {
  return row * axis.stride - axis.pad;
}

// Behind the last row of the input that a window at `row` reads; of a transposed window: that `row` of it reaches.
std::int64_t behind_taps(const TileAxis& axis, std::int64_t row) {
  return first_tap(axis, row) + axis.extent;
}

// The more rows are made, the more are read; those of the whole operator are enough.
Interval enough_rows(const TileAxis& axis, Interval made) {
  while (rows_read(axis, made).size() < axis.least) {
    const bool can_read_more_below = behind_taps(axis, made.end - 1) < axis.input;
    if (made.end < axis.output && (can_read_more_below || made.begin == 0)) {
      ++made.end;
    } else {
      --made.begin;
    }
  }
  return made;
}

}  // namespace

bool can_be_tiled(const TileAxis& axis) {
  if (axis.kind == Kind::window) return rows_read(axis, {0, axis.output}).size() >= axis.least;
  if (axis.kind == Kind::transposed_window) return behind_taps(axis, axis.input - 1) > 0;
  return true;
}

Interval rows_made(const TileAxis& axis, Interval wanted) {
  switch (axis.kind) {
    case Kind::window:
      return enough_rows(axis, wanted);
    case Kind::transposed_window:  // behind its last row may be some that no row of the input reaches
      return {std::min(wanted.begin, behind_taps(axis, axis.input - 1) - 1), wanted.end};
    case Kind::scaled: {
      const std::int64_t first = std::max<std::int64_t>(wanted.begin / axis.stride - axis.before, 0);
      const std::int64_t last = std::min((wanted.end - 1) / axis.stride + axis.after, axis.input - 1);
      return {first * axis.stride, (last + 1) * axis.stride};
    }
    case Kind::broadcast:
      break;
  }
  return wanted;
}

Interval rows_read(const TileAxis& axis, Interval made) {
  switch (axis.kind) {
    case Kind::window:
      return {std::max<std::int64_t>(first_tap(axis, made.begin), 0),
              std::min(behind_taps(axis, made.end - 1), axis.input)};
    case Kind::transposed_window: {
      // A stride that is longer than the windows leaves rows between them, for which the row before is taken.
      const std::int64_t reaching = ceil_div(made.begin + axis.pad - axis.extent + 1, axis.stride);
      const std::int64_t before = floor_div(made.begin + axis.pad, axis.stride);
      const std::int64_t end = floor_div(made.end - 1 + axis.pad, axis.stride) + 1;
      return {std::max<std::int64_t>(std::min(reaching, before), 0), std::min(end, axis.input)};
    }
    case Kind::scaled:
      return {made.begin / axis.stride, made.end / axis.stride};
    case Kind::broadcast:
      break;
  }
  return {0, 1};
}

std::pair<std::int64_t, std::int64_t> padding_of_tile(const TileAxis& axis, Interval made) {
  const Interval read = rows_read(axis, made);
  if (axis.kind == Kind::transposed_window)
    return {made.begin - first_tap(axis, read.begin), behind_taps(axis, read.end - 1) - made.end};
  return {read.begin - first_tap(axis, made.begin), behind_taps(axis, made.end - 1) - read.end};
}

}  // namespace mangrove
