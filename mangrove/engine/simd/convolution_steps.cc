#include <memory>
#include <optional>

#include "mangrove/engine/fused_node.h"
#include "mangrove/engine/portable/bias_gradient.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/simd/convolution.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/packed_weights.h"

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

  std::int64_t forward_workspace(bool are_packed) const {
    return transposed ? convolve_transposed_workspace(*grids, threads)
                      : convolve_workspace(*grids, threads, are_packed);
  }
  std::int64_t backward_data_workspace() const {
    return transposed ? convolve_workspace(*grids, threads, false) : convolve_transposed_workspace(*grids, threads);
  }

  void forward(const float* src, const Weights& weights, const Finish& finish, float* workspace, float* dst) const {
    transposed ? convolve_transposed(*grids, threads, src, weights.data, finish, workspace, dst)
               : convolve(*grids, threads, src, weights, finish, workspace, dst);
  }
  void backward_data(const float* diff_dst, const float* weights, float* workspace, float* diff_src) const {
    transposed ? convolve(*grids, threads, diff_dst, {weights}, {}, workspace, diff_src)
               : convolve_transposed(*grids, threads, diff_dst, weights, {}, workspace, diff_src);
  }
  void backward_weights(const float* src, const float* diff_dst, float* workspace, float* diff_weights) const {
    correlate(*grids, threads, transposed ? diff_dst : src, transposed ? src : diff_dst, workspace, diff_weights);
  }
};

/// What follows a convolution in the same step.
struct Epilogue {
  const FusedNode* residual = nullptr;
  Finish bounds = {};
};

/// The bounds of a Relu or Clip; nullopt for another node, or where a bound is computed.
std::optional<Finish> bounds_of(const FusedNode& fused) {
  Finish bounds;
  if (fused.node.op == "Relu") {
    bounds.low = 0;
    return bounds;
  }
  if (fused.node.op != "Clip") return std::nullopt;
  const std::optional<ClipBounds> clip = clip_bounds(fused.node, fused.constants);
  if (!clip) return std::nullopt;
  bounds.low = clip->low;
  bounds.high = clip->high;
  return bounds;
}

std::optional<Epilogue> find_epilogue(const KernelRequest& request) {
  Epilogue epilogue;
  auto next = request.epilogue.begin();
  if (next != request.epilogue.end() && is_residual(*next)) epilogue.residual = &*next++;
  if (next != request.epilogue.end()) {
    const std::optional<Finish> bounds = bounds_of(*next++);
    if (!bounds) return std::nullopt;
    epilogue.bounds = *bounds;
  }
  if (next != request.epilogue.end()) return std::nullopt;
  return epilogue;
}

/// A step with scratch space of so many elements: work(const Buffers&, float* workspace).
template <class Work>
Step make_map_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                   std::int64_t elements, Work work) {
  return portable::make_step_with_workspace(
      request, what, std::move(operands), elements * static_cast<Bytes>(sizeof(float)),
      [work](const Buffers& buffers, std::byte* workspace) { work(buffers, reinterpret_cast<float*>(workspace)); });
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
  if (are_packed) weights.layout = std::make_shared<const PackedWeights>(conv.geometry());
  operands.add(std::move(weights));
  operands.add(write_value(request.output_names[0]));
  const std::size_t bias_at = operands.add_if(has_input(request, 2), [&] { return read_value(in[2]); });
  const std::size_t residual_at = operands.add_if(epilogue.residual != nullptr, [&] {
    const FusedNode& fused = *epilogue.residual;
    return read_value(fused.node.inputs[1 - fused.input]);
  });
  return make_map_step(request, "forward", operands.take(), conv.forward_workspace(are_packed),
                       [=, bounds = epilogue.bounds](const Buffers& buffers, float* workspace) {
                         const Finish finish{buffers.as<const float>(bias_at), buffers.as<const float>(residual_at),
                                             bounds.low, bounds.high};
                         conv.forward(buffers.as<const float>(0), {buffers.as<const float>(1), are_packed}, finish,
                                      workspace, buffers.as<float>(2));
                       });
}

Step backward_weights_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_map_step(
      request, "backward weights", {read_value(in[0]), read_gradient(request.output_names[0]), write_gradient(in[1])},
      correlate_workspace(*conv.grids, conv.threads), [conv](const Buffers& buffers, float* workspace) {
        conv.backward_weights(buffers.as<const float>(0), buffers.as<const float>(1), workspace, buffers.as<float>(2));
      });
}

Step backward_data_step(const KernelRequest& request, const Convolution& conv) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_map_step(
      request, "backward data", {read_gradient(request.output_names[0]), read_value(in[1]), write_gradient(in[0])},
      conv.backward_data_workspace(), [conv](const Buffers& buffers, float* workspace) {
        conv.backward_data(buffers.as<const float>(0), buffers.as<const float>(1), workspace, buffers.as<float>(2));
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
  const Convolution conv{std::make_shared<const ConvolutionGrids>(geometry), transposed, request.threads};
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
