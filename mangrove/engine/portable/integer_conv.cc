#include <algorithm>

#include "mangrove/engine/portable/quantization.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::portable {
namespace {

using Int = std::int32_t;
using Wrapping = std::uint32_t;  // sums of very many products wrap around, which signed integers must not

/// Where a window's taps meet the input along one axis: tap t meets start + t dilation, for t in [first, last).
struct Taps {
  Taps(const Window& w, std::size_t axis, std::int64_t position)
      : start(position * w.strides[axis] - w.pads_begin[axis]), dilation(w.dilations[axis]) {
    first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    last = std::min(w.kernel[axis], (w.input[axis] - start + dilation - 1) / dilation);
  }
  std::int64_t at(std::int64_t tap) const { return start + tap * dilation; }
  std::int64_t start, dilation, first, last;
};

/// visit(n, m, offset of the result, sum of (x - x zero)(w - w zero) over the window) for every element of the result.
/// Padding is x's zero point, so it adds nothing.
template <class X, class W, class Visit>
void for_each_sum(const ConvGeometry& g, const X* x, Int x_zero, const W* w, const PerChannel<W>& w_zero, Visit visit) {
  const Window& window = g.window;
  const std::int64_t per_group = g.input_channels_per_group();
  std::int64_t offset = 0;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      const std::int64_t first_channel = m / g.output_channels_per_group() * per_group;
      const X* const images = x + (n * g.input_channels + first_channel) * window.input_plane();
      const W* const kernels = w + m * per_group * window.taps();
      const W zero = w_zero[m];
      for (std::int64_t row = 0; row < window.output[0]; ++row) {
        const Taps rows(window, 0, row);
        for (std::int64_t column = 0; column < window.output[1]; ++column) {
          const Taps columns(window, 1, column);
          Wrapping sum = 0;
          for (std::int64_t c = 0; c < per_group; ++c) {
            for (std::int64_t i = rows.first; i < rows.last; ++i) {
              const X* const line = images + c * window.input_plane() + rows.at(i) * window.input[1];
              const W* const taps = kernels + c * window.taps() + i * window.kernel[1];
              for (std::int64_t j = columns.first; j < columns.last; ++j) {
                sum += static_cast<Wrapping>((line[columns.at(j)] - x_zero) * (taps[j] - zero));
              }
            }
          }
          visit(m, offset++, static_cast<Int>(sum));
        }
      }
    }
  }
}

template <class X, class W>
NodeKernels integer_conv_kernels(const KernelRequest& request, const ConvGeometry& g) {
  OperandList operands;
  const auto input = [&](std::size_t i) {
    return operands.add_if(has_input(request, i), [&] { return read_value(request.node.inputs[i]); });
  };
  const std::size_t x = input(0), w = input(1), x_zero = input(2), w_zero = input(3);
  const std::size_t y = operands.add(write_value(request.output_names[0]));
  const std::int64_t w_zeros = w_zero == kNoOperand ? 0 : request.inputs[3].shape.elements();
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", operands.take(), [=](const Buffers& buffers) {
    const X* zero = buffers.as<const X>(x_zero);
    const PerChannel<W> zeros{buffers.as<const W>(w_zero), w_zeros};
    for_each_sum(g, buffers.as<const X>(x), zero == nullptr ? 0 : *zero, buffers.as<const W>(w), zeros,
                 [out = buffers.as<Int>(y)](std::int64_t, std::int64_t at, Int sum) { out[at] = sum; });
  }));
  return kernels;
}

template <class X, class W, class Y>
NodeKernels quantized_conv_kernels(const KernelRequest& request, const ConvGeometry& g) {
  OperandList operands;
  for (std::size_t i = 0; i < 8; ++i) operands.add(read_value(request.node.inputs[i]));
  const std::size_t bias = operands.add_if(has_input(request, 8), [&] { return read_value(request.node.inputs[8]); });
  const std::size_t y = operands.add(write_value(request.output_names[0]));
  const std::int64_t w_scales = request.inputs[4].shape.elements(), w_zeros = request.inputs[5].shape.elements();
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", operands.take(), [=](const Buffers& buffers) {
    const PerChannel<float> w_scale{buffers.as<const float>(4), w_scales};
    const PerChannel<W> zeros{buffers.as<const W>(5), w_zeros};
    const PerChannel<Int> added{buffers.as<const Int>(bias), g.output_channels};
    const float over_y = *buffers.as<const float>(1) / *buffers.as<const float>(6);
    const Y y_zero = *buffers.as<const Y>(7);
    for_each_sum(g, buffers.as<const X>(0), *buffers.as<const X>(2), buffers.as<const W>(3), zeros,
                 [&](std::int64_t m, std::int64_t at, Int sum) {
                   const Wrapping biased = static_cast<Wrapping>(sum) + static_cast<Wrapping>(added[m]);
                   const auto exact = static_cast<float>(static_cast<Int>(biased));
                   buffers.as<Y>(y)[at] = quantized(exact * over_y * w_scale[m], y_zero);
                 });
  }));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_integer_conv(const KernelRequest& request) {
  const bool requantizes = request.node.op == "QLinearConv";
  const std::size_t weights = requantizes ? 3 : 1;
  MG_TRY(const ConvGeometry geometry,
         conv_geometry(request.node, request.inputs[0].shape, request.inputs[weights].shape));
  return for_byte_types(request.inputs[0].dtype, request.inputs[weights].dtype,
                        [&](auto x, auto w) -> Result<NodeKernels> {
                          using X = decltype(x);
                          using W = decltype(w);
                          if (!requantizes) return integer_conv_kernels<X, W>(request, geometry);
                          return for_byte_types(request.outputs[0].dtype, request.outputs[0].dtype, [&](auto y, auto) {
                            return quantized_conv_kernels<X, W, decltype(y)>(request, geometry);
                          });
                        });
}

}  // namespace mangrove::portable
