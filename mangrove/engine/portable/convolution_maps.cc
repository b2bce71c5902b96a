#include "mangrove/engine/portable/convolution_maps.h"

#include <algorithm>

#include "mangrove/engine/portable/matrix.h"
#include "mangrove/engine/portable/vector_ops.h"
#include "mangrove/engine/portable/window_rows.h"

namespace mangrove::portable {
namespace {

/// Where one output channel of one sample meets one input channel of its group, in elements.
struct ChannelPair {
  std::int64_t x, w, y;  // offsets of the planes, and of the taps in the weights
};

template <class Visit>
void for_each_channel_pair(const ConvGeometry& g, Visit visit) {
  const std::int64_t inputs = g.input_channels_per_group(), outputs = g.output_channels_per_group();
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        visit(ChannelPair{.x = (n * g.input_channels + m / outputs * inputs + c) * g.window.input_plane(),
                          .w = (m * inputs + c) * g.window.taps(),
                          .y = (n * g.output_channels + m) * g.window.output_plane()});
      }
    }
  }
}

/// What one group of one sample computes on some rows of the result, as matrices of depth `covered` and width
/// `positions`: y [outputs, positions] = w [outputs, covered] columns [covered, positions].
struct Piece {
  std::int64_t x, w,
      y;  // offsets: of the group's first plane and weights, and of the first position in its first plane
  std::int64_t first_row, rows;
  std::int64_t positions;
};

constexpr std::int64_t kColumnElements = 32 * 1024;  // 128 KiB of f32: stays in a second-level cache

bool uses_columns(const ConvGeometry& g) {
  return g.output_channels_per_group() >= blocked::kRows;  // fewer rows do not make up for the copies
}

/// The image is its own matrix of columns.
bool is_pointwise(const ConvGeometry& g) {
  const Window& w = g.window;
  return w.taps() == 1 && w.strides == Window::Pair{1, 1} && w.input == w.output && w.pads_begin == Window::Pair{0, 0};
}

std::int64_t covered(const ConvGeometry& g) {
  return g.input_channels_per_group() * g.window.taps();
}

std::int64_t rows_at_once(const ConvGeometry& g) {
  const std::int64_t row = std::max<std::int64_t>(covered(g) * g.window.output[1], 1);
  return std::clamp<std::int64_t>(kColumnElements / row, 1, g.window.output[0]);
}

template <class Visit>
void for_each_piece(const ConvGeometry& g, Visit visit) {
  const Window& window = g.window;
  const std::int64_t inputs = g.input_channels_per_group(), outputs = g.output_channels_per_group();
  const std::int64_t step = rows_at_once(g);
  for (std::int64_t i = 0; i < g.batch * g.group; ++i) {
    for (std::int64_t row = 0; row < window.output[0]; row += step) {
      const std::int64_t rows = std::min(step, window.output[0] - row);
      visit(Piece{.x = i * inputs * window.input_plane(),
                  .w = i % g.group * outputs * covered(g),
                  .y = i * outputs * window.output_plane() + row * window.output[1],
                  .first_row = row,
                  .rows = rows,
                  .positions = rows * window.output[1]});
    }
  }
}

/// For every row of columns and row of positions: visit(offset in columns, tap's range of columns, offset in the image
/// of the element at position 0), or where the tap lies outside the image: visit with an empty range.
template <class Visit>
void for_each_column_row(const ConvGeometry& g, const Piece& piece, Visit visit) {
  const Window& window = g.window;
  std::int64_t to = 0;
  for (std::int64_t c = 0; c < g.input_channels_per_group(); ++c) {
    for (std::int64_t i = 0; i < window.kernel[0]; ++i) {
      const TapRange rows(window, 0, i);
      for (std::int64_t j = 0; j < window.kernel[1]; ++j) {
        TapRange columns(window, 1, j);
        for (std::int64_t row = piece.first_row; row < piece.first_row + piece.rows; ++row, to += window.output[1]) {
          const bool inside = row >= rows.first && row < rows.last;
          const std::int64_t image_row = row * window.strides[0] + rows.offset;
          visit(to, inside ? columns.first : 0, inside ? columns.last : 0,
                piece.x + c * window.input_plane() + image_row * window.input[1] + columns.offset);
        }
      }
    }
  }
}

template <class T>
void image_to_columns(const ConvGeometry& g, const Piece& piece, const T* x, T* columns) {
  const std::int64_t width = g.window.output[1], stride = g.window.strides[1];
  for_each_column_row(g, piece, [=](std::int64_t to, std::int64_t first, std::int64_t last, std::int64_t from) {
    T* row = columns + to;
    std::fill_n(row, first, T(0));
    if (stride == 1) {
      std::copy(x + from + first, x + from + last, row + first);
    } else {
      for (std::int64_t k = first; k < last; ++k) row[k] = x[from + k * stride];
    }
    std::fill(row + last, row + width, T(0));
  });
}

template <class T>
void add_columns_to_image(const ConvGeometry& g, const Piece& piece, const T* columns, T* x) {
  const std::int64_t stride = g.window.strides[1];
  for_each_column_row(g, piece, [=](std::int64_t to, std::int64_t first, std::int64_t last, std::int64_t from) {
    axpy_to(last - first, T(1), columns + to + first, x + from + first * stride, stride);
  });
}

/// The columns of a piece: copied, or the image itself.
template <class T>
Matrix<T> columns_of(const ConvGeometry& g, const Piece& piece, const T* x, T* columns) {
  if (is_pointwise(g)) return {x + piece.x + piece.first_row * g.window.input[1], g.window.input_plane(), 1};
  image_to_columns(g, piece, x, columns);
  return matrix<T>(columns, covered(g), piece.positions);
}

}  // namespace

std::int64_t column_elements(const ConvGeometry& g) {
  return uses_columns(g) && !is_pointwise(g) ? covered(g) * rows_at_once(g) * g.window.output[1] : 0;
}

template <class T>
void convolve(const ConvGeometry& g, const T* x, const T* w, T* columns, T* y) {
  if (uses_columns(g)) {
    const std::int64_t outputs = g.output_channels_per_group();
    return for_each_piece(g, [&](const Piece& at) {
      multiply_add(outputs, at.positions, covered(g), T(1), matrix(w + at.w, outputs, covered(g)),
                   columns_of(g, at, x, columns), y + at.y, g.window.output_plane());
    });
  }
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      axpy(row.count, w[at.w + row.tap], x + at.x + row.input, g.window.strides[1], y + at.y + row.output);
    });
  });
}

template <class T>
void convolve_transposed(const ConvGeometry& g, const T* y, const T* w, T* columns, T* x) {
  if (uses_columns(g)) {
    const std::int64_t outputs = g.output_channels_per_group();
    return for_each_piece(g, [&](const Piece& at) {
      const Matrix<T> turned = matrix(w + at.w, outputs, covered(g)).transposed();
      const Matrix<T> result{y + at.y, g.window.output_plane(), 1};
      if (is_pointwise(g)) {
        return multiply_add(covered(g), at.positions, outputs, T(1), turned, result,
                            x + at.x + at.first_row * g.window.input[1], g.window.input_plane());
      }
      std::fill_n(columns, covered(g) * at.positions, T(0));
      multiply_add(covered(g), at.positions, outputs, T(1), turned, result, columns);
      add_columns_to_image(g, at, columns, x);
    });
  }
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      axpy_to(row.count, w[at.w + row.tap], y + at.y + row.output, x + at.x + row.input, g.window.strides[1]);
    });
  });
}

template <class T>
void correlate(const ConvGeometry& g, const T* x, const T* y, T* columns, T* w) {
  if (uses_columns(g)) {
    const std::int64_t outputs = g.output_channels_per_group();
    return for_each_piece(g, [&](const Piece& at) {
      multiply_add(outputs, covered(g), at.positions, T(1), Matrix<T>{y + at.y, g.window.output_plane(), 1},
                   columns_of(g, at, x, columns).transposed(), w + at.w);
    });
  }
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      w[at.w + row.tap] += dot(row.count, x + at.x + row.input, g.window.strides[1], y + at.y + row.output);
    });
  });
}

template void convolve(const ConvGeometry&, const float*, const float*, float*, float*);
template void convolve(const ConvGeometry&, const double*, const double*, double*, double*);
template void convolve_transposed(const ConvGeometry&, const float*, const float*, float*, float*);
template void convolve_transposed(const ConvGeometry&, const double*, const double*, double*, double*);
template void correlate(const ConvGeometry&, const float*, const float*, float*, float*);
template void correlate(const ConvGeometry&, const double*, const double*, double*, double*);

}  // namespace mangrove::portable
