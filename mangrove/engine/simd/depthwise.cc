#include "mangrove/engine/simd/depthwise.h"

#include <algorithm>
#include <vector>

#include "mangrove/engine/simd/blocked_product.h"
#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/engine/simd/padded_rows.h"
#include "mangrove/engine/simd/scratch_ranges.h"

namespace mangrove::simd {
namespace {

/// A plane of the input with zeros around it, its columns sorted by what they leave when divided by the stride: the
/// elements that a tap reads of a row of positions then lie next to each other.
struct PaddedPlane {
  /// Columns of the input, `stride` apart, and where they go in a row.
  struct Part {
    std::int64_t to, column, count;
  };

  explicit PaddedPlane(const Window& window)
      : w(window),
        rows((w.output[0] - 1) * w.strides[0] + w.extent(0)),
        part(w.output[1] + (w.extent(1) - 1) / w.strides[1] + kMaxLanes),
        row(part * std::min(w.strides[1], w.extent(1))) {  // no tap reads the other columns
    for (std::int64_t p = 0; p * part < row; ++p) {        // element j of a part is column j * stride + p - padding
      const std::int64_t begin = std::min(part, ceil_div(w.pads_begin[1] - p, w.strides[1]));
      const std::int64_t columns = std::min(part - kMaxLanes, ceil_div(w.input[1] + w.pads_begin[1] - p, w.strides[1]));
      parts.push_back(
          {p * part + begin, begin * w.strides[1] + p - w.pads_begin[1], std::max<std::int64_t>(columns - begin, 0)});
    }
  }

  std::int64_t elements() const { return rows * row; }
  void clear(float* to) const { std::fill_n(to, elements(), 0.0f); }
  /// Where it was cleared before.
  void fill(const float* plane, float* to) const {
    const std::int64_t first = std::max<std::int64_t>(w.pads_begin[0], 0);
    const std::int64_t last = std::min(rows, w.input[0] + w.pads_begin[0]);
    const float* from = plane + (first - w.pads_begin[0]) * w.input[1];
    for (const Part& of : parts) {
      micro_kernels().copy(
          {from + of.column, std::max<std::int64_t>(last - first, 0), of.count, w.input[1], w.strides[1]},
          to + first * row + of.to, row);
    }
  }
  std::vector<const float*> starts(const float* filled) const {
    std::vector<const float*> made;
    for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
      for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
        const std::int64_t column = j * w.dilations[1];
        made.push_back(filled + i * w.dilations[0] * row + column % w.strides[1] * part + column / w.strides[1]);
      }
    }
    return made;
  }
  DepthwiseRows positions(const std::vector<const float*>& starts) const {
    return {w.taps(), starts.data(), row * w.strides[0], w.output[0], w.output[1]};
  }

  const Window& w;
  const std::int64_t rows, part, row;
  std::vector<Part> parts;
};

/// A plane of the output with zeros around it, as far as the taps of the transpose reach.
struct TransposedPlane {
  explicit TransposedPlane(const std::vector<Grid>& grids) : rows(std::span(grids)) {
    for (const Grid& grid : grids) height = std::max(height, grid.rows);
  }
  std::int64_t elements() const { return rows.plane(height); }

  PaddedRows rows;
  std::int64_t height = 0;  // of positions
};

std::int64_t zero_padded_row(const Window& w) {
  return ceil_div(w.output[1], kMaxLanes) * kMaxLanes;
}

void finish_plane(const Finish& finish, std::int64_t at, std::int64_t count, float* y) {
  const Finish rest{nullptr, finish.residual, finish.bounds};  // the sums began with the bias
  if (rest.does_nothing()) return;
  micro_kernels().finish(count, 0, rest.residual != nullptr ? rest.residual + at : nullptr, rest.bounds.low,
                         rest.bounds.high, y + at);
}

}  // namespace

std::int64_t depthwise_convolve_scratch(const ConvolutionGrids& c) {
  return PaddedPlane(c.geometry.window).elements();
}

std::int64_t depthwise_transposed_scratch(const ConvolutionGrids& c) {
  const TransposedPlane plane(c.transposed);
  return plane.elements() + c.geometry.window.input_plane();
}

std::int64_t depthwise_correlate_scratch(const ConvolutionGrids& c) {
  const Window& w = c.geometry.window;
  return PaddedPlane(w).elements() + w.output[0] * zero_padded_row(w);
}

void depthwise_convolve(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* w,
                        const Finish& finish, float* workspace, float* y) {
  const ConvGeometry& g = c.geometry;
  const PaddedPlane padded(g.window);
  const std::int64_t plane = g.window.output_plane(), outputs = g.output_channels_per_group();
  in_ranges_with_scratch(images * g.output_channels, threads, workspace, depthwise_convolve_scratch(c),
                         [&](std::int64_t first, std::int64_t last, float* scratch) {
                           const std::vector<const float*> starts = padded.starts(scratch);
                           const DepthwiseRows rows = padded.positions(starts);
                           padded.clear(scratch);
                           for (std::int64_t i = first; i < last; ++i) {
                             const std::int64_t channel = i % g.output_channels;
                             const std::int64_t from = i / g.output_channels * g.input_channels + channel / outputs;
                             padded.fill(x + from * g.window.input_plane(), scratch);
                             const float start = finish.bias != nullptr ? finish.bias[channel] : 0.0f;
                             micro_kernels().filter(rows, w + channel * g.window.taps(), start, false, y + i * plane,
                                                    g.window.output[1]);
                             finish_plane(finish, i * plane, plane, y);
                           }
                         });
}

namespace {

/// One of the transpose's grids, as one thread computes it again and again.
struct TransposedFilter {
  TransposedFilter(const Grid& computed, const PaddedRows& padded, const float* filled)
      : grid(computed), weights(grid.taps.size()), row(padded.row) {
    for (const Tap& tap : grid.taps) starts.push_back(filled + padded.offset(tap));
  }

  /// x = start + w * the plane, or += where `adds`. scratch: of a grid's elements.
  void operator()(const float* w, float start, bool adds, float* scratch, float* x) {
    for (std::size_t t = 0; t < weights.size(); ++t) weights[t] = w[grid.taps[t].weight];
    const DepthwiseRows rows{static_cast<std::int64_t>(starts.size()), starts.data(), row, grid.rows, grid.columns};
    float* to = x + grid.first;
    if (grid.column_step == 1) return micro_kernels().filter(rows, weights.data(), start, adds, to, grid.row_step);
    micro_kernels().filter(rows, weights.data(), start, false, scratch, grid.columns);
    for (std::int64_t r = 0; r < grid.rows; ++r, to += grid.row_step) {
      const float* made = scratch + r * grid.columns;
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        to[c * grid.column_step] = adds ? to[c * grid.column_step] + made[c] : made[c];
      }
    }
  }

  const Grid& grid;
  std::vector<const float*> starts;
  std::vector<float> weights;
  std::int64_t row;
};

}  // namespace

void depthwise_convolve_transposed(const ConvolutionGrids& c, std::int64_t images, int threads, const float* y,
                                   const float* w, const Finish& finish, float* workspace, float* x) {
  const ConvGeometry& g = c.geometry;
  const std::vector<Grid>& grids = c.transposed;
  const TransposedPlane padded(grids);
  const std::int64_t plane = g.window.input_plane(), outputs = g.output_channels_per_group();
  const std::int64_t from_plane = g.window.output_plane();
  in_ranges_with_scratch(
      images * g.input_channels, threads, workspace, depthwise_transposed_scratch(c),
      [&](std::int64_t first, std::int64_t last, float* scratch) {
        std::vector<TransposedFilter> filters;
        filters.reserve(grids.size());
        for (const Grid& grid : grids) filters.emplace_back(grid, padded.rows, scratch);
        std::fill_n(scratch, padded.elements(), 0.0f);
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t channel = i % g.input_channels, image = i / g.input_channels;
          for (std::int64_t output = 0; output < outputs; ++output) {
            const std::int64_t from = channel * outputs + output;
            padded.rows.fill(y + (image * g.output_channels + from) * from_plane, 0, padded.height, scratch);
            const float start = output == 0 && finish.bias != nullptr ? finish.bias[channel] : 0.0f;
            for (TransposedFilter& filter : filters) {
              filter(w + from * g.window.taps(), start, output > 0, scratch + padded.elements(), x + i * plane);
            }
          }
          finish_plane(finish, i * plane, plane, x);
        }
      });
}

void depthwise_correlate(const ConvolutionGrids& c, std::int64_t images, int threads, const float* x, const float* y,
                         float* workspace, float* w) {
  const ConvGeometry& g = c.geometry;
  const PaddedPlane padded(g.window);
  const std::int64_t row = zero_padded_row(g.window), rows = g.window.output[0], columns = g.window.output[1];
  in_ranges_with_scratch(g.output_channels, threads, workspace, depthwise_correlate_scratch(c),
                         [&](std::int64_t first, std::int64_t last, float* scratch) {
                           float* results = scratch + padded.elements();
                           const std::vector<const float*> starts = padded.starts(scratch);
                           const DepthwiseRows positions = padded.positions(starts);
                           padded.clear(scratch);
                           std::fill_n(results, rows * row, 0.0f);  // the zeros behind the rows stay
                           for (std::int64_t channel = first; channel < last; ++channel) {
                             for (std::int64_t image = 0; image < images; ++image) {
                               const std::int64_t from =
                                   image * g.input_channels + channel / g.output_channels_per_group();
                               padded.fill(x + from * g.window.input_plane(), scratch);
                               const float* of_y = y + (image * g.output_channels + channel) * g.window.output_plane();
                               micro_kernels().copy({of_y, rows, columns, columns}, results, row);
                               micro_kernels().correlate(positions, results, row, w + channel * g.window.taps());
                             }
                           }
                         });
}

}  // namespace mangrove::simd
