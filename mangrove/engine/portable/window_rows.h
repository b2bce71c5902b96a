#pragma once

#include <algorithm>
#include <cstdint>

#include "mangrove/graph/window.h"

namespace mangrove::portable {

/// One tap of a window along one output row: output elements [output, output + count) meet input elements
/// input, input + stride, ... Padding is left out.
struct TapRow {
  std::int64_t tap;     // row-major index in the kernel
  std::int64_t output;  // offset in the output plane [H', W']
  std::int64_t input;   // offset in the input plane [H, W]
  std::int64_t count;
};

/// The output positions [first, last) at which tap `tap` of one axis lies inside the input.
struct TapRange {
  TapRange(const Window& window, std::size_t axis, std::int64_t tap)
      : offset(tap * window.dilations[axis] - window.pads_begin[axis]) {
    const std::int64_t stride = window.strides[axis];
    first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t room = window.input[axis] - 1 - offset;  // from the tap at position 0 to the last element
    last = room < 0 ? 0 : std::min(window.output[axis], room / stride + 1);
    first = std::min(first, last);
  }

  std::int64_t offset;  // input coordinate at output position 0
  std::int64_t first, last;
};

/// visit(const TapRow&) for every tap and output row of one plane. The input stride is window.strides[1].
template <class Visit>
void for_each_tap_row(const Window& window, Visit visit) {
  for (std::int64_t i = 0; i < window.kernel[0]; ++i) {
    const TapRange rows(window, 0, i);
    for (std::int64_t j = 0; j < window.kernel[1]; ++j) {
      const TapRange columns(window, 1, j);
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const std::int64_t input_row = row * window.strides[0] + rows.offset;
        visit(TapRow{.tap = i * window.kernel[1] + j,
                     .output = row * window.output[1] + columns.first,
                     .input = input_row * window.input[1] + columns.first * window.strides[1] + columns.offset,
                     .count = columns.last - columns.first});
      }
    }
  }
}

}  // namespace mangrove::portable
