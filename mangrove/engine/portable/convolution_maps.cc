#include "mangrove/engine/portable/convolution_maps.h"

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

}  // namespace

template <class T>
void convolve(const ConvGeometry& g, const T* x, const T* w, T* y) {
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      axpy(row.count, w[at.w + row.tap], x + at.x + row.input, g.window.strides[1], y + at.y + row.output);
    });
  });
}

template <class T>
void convolve_transposed(const ConvGeometry& g, const T* y, const T* w, T* x) {
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      axpy_to(row.count, w[at.w + row.tap], y + at.y + row.output, x + at.x + row.input, g.window.strides[1]);
    });
  });
}

template <class T>
void correlate(const ConvGeometry& g, const T* x, const T* y, T* w) {
  for_each_channel_pair(g, [&](const ChannelPair& at) {
    for_each_tap_row(g.window, [&](const TapRow& row) {
      w[at.w + row.tap] += dot(row.count, x + at.x + row.input, g.window.strides[1], y + at.y + row.output);
    });
  });
}

template void convolve(const ConvGeometry&, const float*, const float*, float*);
template void convolve(const ConvGeometry&, const double*, const double*, double*);
template void convolve_transposed(const ConvGeometry&, const float*, const float*, float*);
template void convolve_transposed(const ConvGeometry&, const double*, const double*, double*);
template void correlate(const ConvGeometry&, const float*, const float*, float*);
template void correlate(const ConvGeometry&, const double*, const double*, double*);

}  // namespace mangrove::portable
