#include <algorithm>
#include <memory>

#include "mangrove/engine/portable/bias_gradient.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/simd/convolution.h"
#include "mangrove/engine/simd/epilogue.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/packed_weights.h"
#include "mangrove/engine/simd/scratch_ranges.h"
#include "mangrove/engine/simd/sliced_step.h"

namespace mangrove::simd {
namespace {

using portable::Buffers;
using portable::has_input;
using portable::OperandList;
using portable::read_gradient;
using portable::read_value;
using portable::wants_gradient;
using portable::write_gradient;
using portable::write_value;

/// Conv, or ConvTranspose as the transpose of the convolution that `grids` describes.
struct Convolution {
  std::shared_ptr<const ConvolutionGrids> grids;
  bool transposed;
  int threads;

  /// Of the node's result.
  std::int64_t channels() const { return transposed ? geometry().input_channels : geometry().output_channels; }
  std::int64_t plane() const { return transposed ? geometry().window.input_plane() : geometry().window.output_plane(); }
  const ConvGeometry& geometry() const { return grids->geometry; }

  /// Elements of scratch space.
  std::int64_t forward_workspace() const {
    return transposed ? convolve_transposed_workspace(*grids, threads) : convolve_workspace(*grids, threads);
  }
  std::int64_t backward_data_workspace() const {
    return transposed ? convolve_workspace(*grids, threads) : convolve_transposed_workspace(*grids, threads);
  }

  /// Elements of the weights as they are packed for it.
  std::int64_t packed_forward() const {
    return transposed ? elements_packed_for_transposed(*grids) : elements_packed_for_convolve(*grids);
  }
  std::int64_t packed_backward_data() const {
    return transposed ? elements_packed_for_convolve(*grids) : elements_packed_for_transposed(*grids);
  }

  void pack_forward(const float* weights, float* packed) const {
    transposed ? pack_for_transposed(*grids, threads, weights, packed)
               : pack_for_convolve(*grids, threads, weights, packed);
  }
  void pack_backward_data(const float* weights, float* packed) const {
    transposed ? pack_for_convolve(*grids, threads, weights, packed)
               : pack_for_transposed(*grids, threads, weights, packed);
  }

  void forward(std::int64_t images, const float* src, const float* packed, const Finish& finish, float* workspace,
               float* dst) const {
    transposed ? convolve_transposed(*grids, images, threads, src, packed, finish, workspace, dst)
               : convolve(*grids, images, threads, src, packed, finish, workspace, dst);
  }
  void backward_data(std::int64_t images, const float* diff_dst, const float* packed, float* workspace,
                     float* diff_src) const {
    transposed ? convolve(*grids, images, threads, diff_dst, packed, {}, workspace, diff_src)
               : convolve_transposed(*grids, images, threads, diff_dst, packed, {}, workspace, diff_src);
  }
  void backward_weights(std::int64_t images, const float* src, const float* diff_dst, float* workspace,
                        float* diff_weights) const {
    correlate(*grids, images, threads, transposed ? diff_dst : src, transposed ? src : diff_dst, workspace,
              diff_weights);
  }
};

/// A step with scratch space of so many elements: work(const Buffers&, float* workspace, const Slice&).
template <class Work>
Step make_map_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                   const Convolution& conv, std::int64_t elements, bool keeps_workspace, Work work) {
  const SliceTraits traits{.batch = conv.geometry().batch,
                           .images = image_values(request),
                           .workspace = elements * static_cast<Bytes>(sizeof(float)),
                           .keeps_workspace = keeps_workspace};
  return make_sliced_step(request, what, std::move(operands), traits,
                          [work](const Buffers& buffers, std::byte* workspace, const Slice& slice) {
                            work(buffers, reinterpret_cast<float*>(workspace), slice);
                          });
}

Step forward_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  const Epilogue epilogue = find_epilogue(request).value();
  OperandList operands;
  operands.add(read_value(in[0]));
  // weights that no step but this one reads are packed once, when they are loaded
  Operand weights = read_value(in[1]);
  const bool are_packed =
      request.mode == Mode::inference && request.own_parameter[1] && !conv.transposed && !is_depthwise(conv.geometry());
  if (are_packed) weights.layout = std::make_shared<const PackedWeights>(*conv.grids);
  operands.add(std::move(weights));
  operands.add(write_value(request.output_names[0]));
  const std::size_t bias_at = operands.add_if(has_input(request, 2), [&] { return read_value(in[2]); });
  const std::size_t residual_at =
      operands.add_if(epilogue.residual != nullptr, [&] { return read_value(epilogue.residual_value()); });
  const std::int64_t packed_here = are_packed ? 0 : whole_lines(conv.packed_forward());
  return make_map_step(
      request, "forward", operands.take(), conv, packed_here + conv.forward_workspace(), packed_here > 0,
      [=, bounds = epilogue.bounds.value_or(Bounds{})](const Buffers& buffers, float* workspace, const Slice& slice) {
        const auto* given = buffers.as<const float>(1);
        if (packed_here > 0 && slice.is_first()) conv.pack_forward(given, workspace);
        const Finish finish{buffers.as<const float>(bias_at), buffers.as<const float>(residual_at), bounds};
        conv.forward(conv.geometry().batch / slice.count, buffers.as<const float>(0),
                     packed_here > 0 ? workspace : given, finish, workspace + packed_here, buffers.as<float>(2));
      });
}

Step backward_weights_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  const std::int64_t weights = request.inputs[1].shape.elements();
  return make_map_step(request, "backward weights",
                       {read_value(in[0]), read_gradient(request.output_names[0]), write_gradient(in[1])}, conv,
                       correlate_workspace(*conv.grids, conv.threads), false,
                       [conv, weights](const Buffers& buffers, float* workspace, const Slice& slice) {
                         if (slice.is_first()) std::fill_n(buffers.as<float>(2), weights, 0.0f);
                         conv.backward_weights(conv.geometry().batch / slice.count, buffers.as<const float>(0),
                                               buffers.as<const float>(1), workspace, buffers.as<float>(2));
                       });
}

Step backward_data_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  const std::int64_t packed_here = whole_lines(conv.packed_backward_data());
  return make_map_step(
      request, "backward data", {read_gradient(request.output_names[0]), read_value(in[1]), write_gradient(in[0])},
      conv, packed_here + conv.backward_data_workspace(), packed_here > 0,
      [conv, packed_here](const Buffers& buffers, float* workspace, const Slice& slice) {
        const auto* given = buffers.as<const float>(1);
        if (packed_here > 0 && slice.is_first()) conv.pack_backward_data(given, workspace);
        conv.backward_data(conv.geometry().batch / slice.count, buffers.as<const float>(0),
                           packed_here > 0 ? workspace : given, workspace + packed_here, buffers.as<float>(2));
      });
}

}  // namespace

bool convolution_fuses(const KernelRequest& request) {
  return request.mode == Mode::inference && find_epilogue(request).has_value();
}

Result<NodeKernels> make_convolution(const KernelRequest& request) {
  const bool transposed = request.node.op == "ConvTranspose";
  const auto resolve = transposed ? conv_transpose_geometry : conv_geometry;
  MG_TRY(const ConvGeometry geometry, resolve(request.node, request.inputs[0].shape, request.inputs[1].shape));
  const Convolution conv{std::make_shared<const ConvolutionGrids>(geometry, request.fast_convolution), transposed,
                         request.threads};
  NodeKernels kernels;
  kernels.forward.push_back(forward_step(request, conv));
  if (wants_gradient(request, 2)) {
    kernels.backward.push_back(
        portable::bias_gradient_step<float>(request, geometry.batch, conv.channels(), conv.plane()));
  }
  if (wants_gradient(request, 1)) kernels.backward.push_back(backward_weights_step(request, conv));
  if (wants_gradient(request, 0)) kernels.backward.push_back(backward_data_step(request, conv));
  return kernels;
}

}  // namespace mangrove::simd
