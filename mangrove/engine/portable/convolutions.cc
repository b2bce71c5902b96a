#include <algorithm>

#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/vector_ops.h"
#include "mangrove/engine/portable/window_rows.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::portable {
namespace {

/// Sizes of planes, in elements.
struct Planes {
  explicit Planes(const ConvGeometry& g)
      : input(g.window.input[0] * g.window.input[1]), output(g.window.output[0] * g.window.output[1]) {}
  std::int64_t input, output;
};

/// For every pair of an output channel m and an input channel c of its group:
/// visit(m, c, offset of their taps in the weights).
template <class Visit>
void for_each_channel_pair(const ConvGeometry& g, Visit visit) {
  const std::int64_t inputs = g.input_channels_per_group(), outputs = g.output_channels_per_group();
  for (std::int64_t m = 0; m < g.output_channels; ++m) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      visit(m, m / outputs * inputs + c, (m * inputs + c) * g.window.taps());
    }
  }
}

template <class T>
void forward(const ConvGeometry& g, const T* src, const T* weights, const T* bias, T* dst) {
  const Planes plane(g);
  for (std::int64_t n = 0; n < g.batch; ++n) {
    const T* sample = src + n * g.input_channels * plane.input;
    T* result = dst + n * g.output_channels * plane.output;
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      std::fill_n(result + m * plane.output, plane.output, bias == nullptr ? T(0) : bias[m]);
    }
    for_each_channel_pair(g, [&](std::int64_t m, std::int64_t c, std::int64_t taps) {
      for_each_tap_row(g.window, [&](const TapRow& row) {
        axpy(row.count, weights[taps + row.tap], sample + c * plane.input + row.input, g.window.strides[1],
             result + m * plane.output + row.output);
      });
    });
  }
}

template <class T>
void backward_data(const ConvGeometry& g, const T* diff_dst, const T* weights, T* diff_src) {
  const Planes plane(g);
  std::fill_n(diff_src, g.batch * g.input_channels * plane.input, T(0));
  for (std::int64_t n = 0; n < g.batch; ++n) {
    T* sample = diff_src + n * g.input_channels * plane.input;
    const T* result = diff_dst + n * g.output_channels * plane.output;
    for_each_channel_pair(g, [&](std::int64_t m, std::int64_t c, std::int64_t taps) {
      for_each_tap_row(g.window, [&](const TapRow& row) {
        axpy_to(row.count, weights[taps + row.tap], result + m * plane.output + row.output,
                sample + c * plane.input + row.input, g.window.strides[1]);
      });
    });
  }
}

template <class T>
void backward_weights(const ConvGeometry& g, const T* src, const T* diff_dst, T* diff_weights) {
  const Planes plane(g);
  std::fill_n(diff_weights, g.output_channels * g.input_channels_per_group() * g.window.taps(), T(0));
  for (std::int64_t n = 0; n < g.batch; ++n) {
    const T* sample = src + n * g.input_channels * plane.input;
    const T* result = diff_dst + n * g.output_channels * plane.output;
    for_each_channel_pair(g, [&](std::int64_t m, std::int64_t c, std::int64_t taps) {
      for_each_tap_row(g.window, [&](const TapRow& row) {
        diff_weights[taps + row.tap] += dot(row.count, sample + c * plane.input + row.input, g.window.strides[1],
                                            result + m * plane.output + row.output);
      });
    });
  }
}

template <class T>
void backward_bias(const ConvGeometry& g, const T* diff_dst, T* diff_bias) {
  const Planes plane(g);
  std::fill_n(diff_bias, g.output_channels, T(0));
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      diff_bias[m] += sum(plane.output, diff_dst + (n * g.output_channels + m) * plane.output);
    }
  }
}

template <class T>
NodeKernels kernels_of(const KernelRequest& request, const ConvGeometry& g) {
  const std::vector<std::string>& in = request.node.inputs;
  const std::string& y = request.output_names[0];
  const bool has_bias = has_input(request, 2);
  NodeKernels kernels;
  std::vector<Operand> operands{read_value(in[0]), read_value(in[1]), write_value(y)};
  if (has_bias) operands.push_back(read_value(in[2]));
  kernels.forward.push_back(make_step(request, "forward", std::move(operands), [g, has_bias](const Buffers& buffers) {
    forward(g, buffers.as<const T>(0), buffers.as<const T>(1), has_bias ? buffers.as<const T>(3) : nullptr,
            buffers.as<T>(2));
  }));
  if (wants_gradient(request, 2)) {
    kernels.backward.push_back(
        make_step(request, "backward bias", {read_gradient(y), write_gradient(in[2])},
                  [g](const Buffers& buffers) { backward_bias(g, buffers.as<const T>(0), buffers.as<T>(1)); }));
  }
  if (wants_gradient(request, 1)) {
    kernels.backward.push_back(
        make_step(request, "backward weights", {read_value(in[0]), read_gradient(y), write_gradient(in[1])},
                  [g](const Buffers& buffers) {
                    backward_weights(g, buffers.as<const T>(0), buffers.as<const T>(1), buffers.as<T>(2));
                  }));
  }
  if (wants_gradient(request, 0)) {
    kernels.backward.push_back(
        make_step(request, "backward data", {read_gradient(y), read_value(in[1]), write_gradient(in[0])},
                  [g](const Buffers& buffers) {
                    backward_data(g, buffers.as<const T>(0), buffers.as<const T>(1), buffers.as<T>(2));
                  }));
  }
  return kernels;
}

Result<NodeKernels> make_conv(const KernelRequest& request) {
  MG_TRY(const ConvGeometry geometry, conv_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape));
  return for_type(request.outputs[0].dtype, [&](auto zero) { return kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace

std::vector<KernelRow> convolutions() {
  return {{"Conv", make_conv}};
}

}  // namespace mangrove::portable
