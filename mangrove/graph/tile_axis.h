#pragma once

#include <cstdint>
#include <utility>

#include "mangrove/graph/region.h"

namespace mangrove {

/// How the rows, or the columns, of what an operator makes depend on those of one of its inputs. A tile's operator
/// makes some of them from some of the input's: rows_made() of those that are wanted, from rows_read() of those that
/// are made.
struct TileAxis {
  enum class Kind {
    window,             // row i reads rows [i stride - pad, i stride - pad + extent), where there are such
    transposed_window,  // row i of the input is read by rows [i stride - pad, i stride - pad + extent)
    scaled,             // row i reads rows [i / stride - before, i / stride + 1 + after), where there are such
    broadcast,          // each row reads the only one
  };
  Kind kind = Kind::window;
  std::int64_t input = 1, output = 1;  // rows of the whole planes
  std::int64_t extent = 1, stride = 1, pad = 0;
  std::int64_t before = 0, after = 0;
  std::int64_t least = 1;  // rows that the operator needs of its input
};

/// False where the whole operator reads less than the `least` rows: a window that slides over padding alone.
bool can_be_tiled(const TileAxis& axis);

/// The rows that a tile's operator makes so that these are among them and right. They are more where the wanted ones
/// read nothing but padding, which an operator cannot do, and where it makes several from each row of its input. Rows
/// that are not wanted may differ from those of the whole network. REQUIRES can_be_tiled(axis).
Interval rows_made(const TileAxis& axis, Interval wanted);

/// The rows of the input that it makes them from: never none. made: what rows_made has returned.
Interval rows_read(const TileAxis& axis, Interval made);

/// Padding before and after the rows that are read with which a window makes those, and no others. The second may be
/// negative for a transposed window: so many rows, which no window reaches, are added.
std::pair<std::int64_t, std::int64_t> padding_of_tile(const TileAxis& axis, Interval made);

}  // namespace mangrove
