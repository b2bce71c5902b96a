#include <algorithm>

#include "mangrove/engine/portable/bias_gradient.h"
#include "mangrove/engine/portable/convolution_maps.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::portable {
namespace {

/// Conv, or ConvTranspose as the transpose of the convolution `geometry`.
struct Convolution {
  ConvGeometry geometry;
  bool transposed;

  std::int64_t batch() const { return geometry.batch; }
  /// Of the node's result.
  std::int64_t channels() const { return transposed ? geometry.input_channels : geometry.output_channels; }
  std::int64_t plane() const { return transposed ? geometry.window.input_plane() : geometry.window.output_plane(); }
  std::int64_t source_elements() const {
    return (transposed ? geometry.output_shape() : geometry.input_shape()).elements();
  }
  std::int64_t weight_elements() const {
    return geometry.output_channels * geometry.input_channels_per_group() * geometry.window.taps();
  }

  template <class T>
  void forward(const T* src, const T* weights, T* columns, T* dst) const {
    transposed ? convolve_transposed(geometry, src, weights, columns, dst)
               : convolve(geometry, src, weights, columns, dst);
  }
  template <class T>
  void backward_data(const T* diff_dst, const T* weights, T* columns, T* diff_src) const {
    transposed ? convolve(geometry, diff_dst, weights, columns, diff_src)
               : convolve_transposed(geometry, diff_dst, weights, columns, diff_src);
  }
  template <class T>
  void backward_weights(const T* src, const T* diff_dst, T* columns, T* diff_weights) const {
    transposed ? correlate(geometry, diff_dst, src, columns, diff_weights)
               : correlate(geometry, src, diff_dst, columns, diff_weights);
  }
};

/// A step with the scratch space of the convolution's maps: work(const Buffers&, T* columns).
template <class T, class Work>
Step make_map_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                   const Convolution& conv, Work work) {
  const Bytes bytes = column_elements(conv.geometry) * static_cast<Bytes>(sizeof(T));
  return make_step_with_workspace(
      request, what, std::move(operands), bytes,
      [work](const Buffers& buffers, std::byte* workspace) { work(buffers, reinterpret_cast<T*>(workspace)); });
}

template <class T>
Step convolution_forward_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  OperandList operands;
  operands.add(read_value(in[0]));
  operands.add(read_value(in[1]));
  operands.add(write_value(request.output_names[0]));
  const std::size_t bias_at = operands.add_if(has_input(request, 2), [&] { return read_value(in[2]); });
  return make_map_step<T>(request, "forward", operands.take(), conv, [=](const Buffers& buffers, T* columns) {
    const T* bias = buffers.as<const T>(bias_at);
    T* dst = buffers.as<T>(2);
    for (std::int64_t i = 0; i < conv.batch() * conv.channels(); ++i) {
      std::fill_n(dst + i * conv.plane(), conv.plane(), bias == nullptr ? T(0) : bias[i % conv.channels()]);
    }
    conv.forward(buffers.as<const T>(0), buffers.as<const T>(1), columns, dst);
  });
}

template <class T>
Step backward_weights_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_map_step<T>(
      request, "backward weights", {read_value(in[0]), read_gradient(request.output_names[0]), write_gradient(in[1])},
      conv, [conv](const Buffers& buffers, T* columns) {
        std::fill_n(buffers.as<T>(2), conv.weight_elements(), T(0));
        conv.backward_weights(buffers.as<const T>(0), buffers.as<const T>(1), columns, buffers.as<T>(2));
      });
}

template <class T>
Step backward_data_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_map_step<T>(
      request, "backward data", {read_gradient(request.output_names[0]), read_value(in[1]), write_gradient(in[0])},
      conv, [conv](const Buffers& buffers, T* columns) {
        std::fill_n(buffers.as<T>(2), conv.source_elements(), T(0));
        conv.backward_data(buffers.as<const T>(0), buffers.as<const T>(1), columns, buffers.as<T>(2));
      });
}

template <class T>
NodeKernels convolution_kernels_of(const KernelRequest& request, const Convolution& conv) {
  NodeKernels kernels;
  kernels.forward.push_back(convolution_forward_step<T>(request, conv));
  if (wants_gradient(request, 2)) {
    kernels.backward.push_back(bias_gradient_step<T>(request, conv.batch(), conv.channels(), conv.plane()));
  }
  if (wants_gradient(request, 1)) kernels.backward.push_back(backward_weights_step<T>(request, conv));
  if (wants_gradient(request, 0)) kernels.backward.push_back(backward_data_step<T>(request, conv));
  return kernels;
}

Result<NodeKernels> make_conv(const KernelRequest& request) {
  const bool transposed = request.node.op == "ConvTranspose";
  const auto resolve = transposed ? conv_transpose_geometry : conv_geometry;
  MG_TRY(const ConvGeometry geometry, resolve(request.node, request.inputs[0].shape, request.inputs[1].shape));
  const Convolution conv{geometry, transposed};
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return convolution_kernels_of<decltype(zero)>(request, conv); });
}

}  // namespace

std::vector<KernelRow> convolutions() {
  return {{"Conv", make_conv}, {"ConvTranspose", make_conv}};
}

}  // namespace mangrove::portable
