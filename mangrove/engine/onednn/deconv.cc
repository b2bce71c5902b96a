#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::onednn {
namespace {

constexpr auto kDirect = dnnl::algorithm::deconvolution_direct;

/// ConvTranspose in oneDNN's terms. Weights [O, I, h, w], or [G, O/G, I/G, h, w] with groups; ONNX has O and I the
/// other way around.
struct Deconvolution {
  explicit Deconvolution(const KernelRequest& request);

  Value src, weights, bias, dst;
  bool has_bias;
  Dims src_dims, weights_dims, dst_dims, strides, dilations, pads_begin, pads_end;
};

Desc turned_desc(const Shape& weights, std::int64_t groups) {
  const std::int64_t taps = weights.elements(2, weights.rank());
  Dims dims{weights[1], weights[0] / groups}, strides{taps, weights[1] * taps};
  std::int64_t stride = taps;
  for (std::size_t i = 2; i < weights.rank(); ++i) {
    stride /= weights[i];
    dims.push_back(weights[i]);
    strides.push_back(stride);
  }
  if (groups > 1) {
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), weights.elements() / groups);
  }
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}

Deconvolution::Deconvolution(const KernelRequest& request) {
  const ConvGeometry geometry =
      conv_transpose_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape).value();
  const Window& window = geometry.window;
  src = input_value(request, 0);
  weights = {request.node.inputs[1], turned_desc(request.inputs[1].shape, geometry.group)};
  dst = output_value(request);
  has_bias = has_input(request, 2);
  if (has_bias) bias = input_value(request, 2);
  src_dims = request.inputs[0].shape.dims();
  weights_dims = weights.plain.dims();
  dst_dims = request.outputs[0].shape.dims();
  strides = window.spatial(window.strides);
  dilations = window.spatial(window.dilations);
  for (std::int64_t& dilation : dilations) dilation -= 1;  // oneDNN counts the gaps, ONNX the distance
  pads_begin = window.spatial(window.pads_begin);
  pads_end = window.spatial(window.pads_end);
}

void add_weights_step(const Deconvolution& d, const dnnl::engine& engine, const KernelRequest& request,
                      const dnnl::deconvolution_forward::primitive_desc& forward, std::vector<Step>& steps) {
  const bool with_bias = wants_gradient(request, 2);
  const dnnl::deconvolution_backward_weights::desc desc(kDirect, any_desc(d.src_dims), any_desc(d.weights_dims),
                                                        with_bias ? d.bias.plain : Desc(), any_desc(d.dst_dims),
                                                        d.strides, d.dilations, d.pads_begin, d.pads_end);
  const dnnl::deconvolution_backward_weights::primitive_desc primitive(desc, user_scratchpad(), engine, forward);
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, d.src, primitive.src_desc()),
                                  read_gradient(DNNL_ARG_DIFF_DST, d.dst, primitive.diff_dst_desc()),
                                  write_gradient(DNNL_ARG_DIFF_WEIGHTS, d.weights, primitive.diff_weights_desc())};
  if (with_bias) arguments.push_back(write_gradient(DNNL_ARG_DIFF_BIAS, d.bias, d.bias.plain));
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward weights", node, std::move(arguments)));
}

void add_data_step(const Deconvolution& d, const dnnl::engine& engine, const KernelRequest& request,
                   const dnnl::deconvolution_forward::primitive_desc& forward, std::vector<Step>& steps) {
  const dnnl::deconvolution_backward_data::desc desc(kDirect, any_desc(d.src_dims), any_desc(d.weights_dims),
                                                     any_desc(d.dst_dims), d.strides, d.dilations, d.pads_begin,
                                                     d.pads_end);
  const dnnl::deconvolution_backward_data::primitive_desc primitive(desc, user_scratchpad(), engine, forward);
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward data", node,
                                 {read_gradient(DNNL_ARG_DIFF_DST, d.dst, primitive.diff_dst_desc()),
                                  read_value(DNNL_ARG_WEIGHTS, d.weights, primitive.weights_desc()),
                                  write_gradient(DNNL_ARG_DIFF_SRC, d.src, primitive.diff_src_desc())}));
}

}  // namespace

bool deconv_supported(const KernelRequest& request) {
  return !wants_gradient(request, 2) || wants_gradient(request, 1);  // the bias has no gradient of its own in oneDNN
}

NodeKernels make_deconv(const dnnl::engine& engine, const KernelRequest& request) {
  const Deconvolution d(request);
  const dnnl::deconvolution_forward::primitive_desc forward(
      {forward_kind(request), kDirect, any_desc(d.src_dims), any_desc(d.weights_dims),
       d.has_bias ? d.bias.plain : Desc(), any_desc(d.dst_dims), d.strides, d.dilations, d.pads_begin, d.pads_end},
      user_scratchpad(), engine);
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, d.src, forward.src_desc()),
                                  read_value(DNNL_ARG_WEIGHTS, d.weights, forward.weights_desc()),
                                  write_value(DNNL_ARG_DST, d.dst, forward.dst_desc())};
  if (d.has_bias) arguments.push_back(read_value(DNNL_ARG_BIAS, d.bias, d.bias.plain));
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (wants_gradient(request, 1)) add_weights_step(d, engine, request, forward, kernels.backward);
  if (wants_gradient(request, 0)) add_data_step(d, engine, request, forward, kernels.backward);
  return kernels;
}

}  // namespace mangrove::onednn
