#include <array>
#include <tuple>

#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

/// One convolution in oneDNN's terms. Weights [O, I, h, w], or [G, O/G, I/G, h, w] with groups.
struct Convolution {
  explicit Convolution(const KernelRequest& request);

  Value src, weights, bias, dst;
  bool has_bias;
  Dims src_dims, weights_dims, dst_dims, strides, dilations, pads_begin, pads_end;
};

Dims as_dims(const std::array<std::int64_t, 2>& pair) {
  return {pair[0], pair[1]};
}

Dims grouped(const Shape& weights, std::int64_t groups) {
  Dims dims = weights.dims();
  if (groups == 1) return dims;
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return dims;
}

Convolution::Convolution(const KernelRequest& request) {
  const ConvGeometry geometry = conv_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape).value();
  src_dims = request.inputs[0].shape.dims();
  weights_dims = grouped(request.inputs[1].shape, geometry.group);
  dst_dims = request.outputs[0].shape.dims();
  src = input_value(request, 0);
  weights = {request.node.inputs[1], plain_desc(weights_dims)};
  dst = output_value(request);
  has_bias = has_input(request, 2);
  if (has_bias) bias = input_value(request, 2);
  strides = as_dims(geometry.window.strides);
  dilations = as_dims(geometry.window.dilations);
  for (std::int64_t& dilation : dilations) dilation -= 1;  // oneDNN counts the gaps, ONNX the distance
  pads_begin = as_dims(geometry.window.pads_begin);
  pads_end = as_dims(geometry.window.pads_end);
}

dnnl::convolution_forward::primitive_desc forward_desc(const Convolution& conv, const dnnl::engine& engine,
                                                       const KernelRequest& request) {
  const auto kind = forward_kind(request);
  const Desc src = any_desc(conv.src_dims), weights = any_desc(conv.weights_dims), dst = any_desc(conv.dst_dims);
  const auto& [begin, end] = std::tie(conv.pads_begin, conv.pads_end);
  using Forward = dnnl::convolution_forward;
  const auto desc = conv.has_bias ? Forward::desc(kind, algorithm::convolution_direct, src, weights, conv.bias.plain,
                                                  dst, conv.strides, conv.dilations, begin, end)
                                  : Forward::desc(kind, algorithm::convolution_direct, src, weights, dst, conv.strides,
                                                  conv.dilations, begin, end);
  return {desc, attributes_with(request.activation), engine};
}

dnnl::convolution_backward_weights::primitive_desc weights_desc(
    const Convolution& conv, const dnnl::engine& engine, bool with_bias,
    const dnnl::convolution_forward::primitive_desc& forward) {
  const Desc src = any_desc(conv.src_dims), weights = any_desc(conv.weights_dims), dst = any_desc(conv.dst_dims);
  const auto& [begin, end] = std::tie(conv.pads_begin, conv.pads_end);
  using Backward = dnnl::convolution_backward_weights;
  const auto desc = with_bias ? Backward::desc(algorithm::convolution_direct, src, weights, conv.bias.plain, dst,
                                               conv.strides, conv.dilations, begin, end)
                              : Backward::desc(algorithm::convolution_direct, src, weights, dst, conv.strides,
                                               conv.dilations, begin, end);
  return {desc, user_scratchpad(), engine, forward};
}

void add_weights_step(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request,
                      const dnnl::convolution_forward::primitive_desc& forward, const ResultGradient& gradient,
                      std::vector<Step>& steps) {
  const bool with_bias = conv.has_bias && wants_gradient(request, 2);
  const auto primitive = weights_desc(conv, engine, with_bias, forward);
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, conv.src, primitive.src_desc()),
                                  gradient.read(DNNL_ARG_DIFF_DST, primitive.diff_dst_desc(), steps),
                                  write_gradient(DNNL_ARG_DIFF_WEIGHTS, conv.weights, primitive.diff_weights_desc())};
  if (with_bias) arguments.push_back(write_gradient(DNNL_ARG_DIFF_BIAS, conv.bias, conv.bias.plain));
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward weights", node, std::move(arguments)));
}

void add_data_step(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request,
                   const dnnl::convolution_forward::primitive_desc& forward, const ResultGradient& gradient,
                   std::vector<Step>& steps) {
  const dnnl::convolution_backward_data::desc desc(algorithm::convolution_direct, any_desc(conv.src_dims),
                                                   any_desc(conv.weights_dims), any_desc(conv.dst_dims), conv.strides,
                                                   conv.dilations, conv.pads_begin, conv.pads_end);
  const dnnl::convolution_backward_data::primitive_desc primitive(desc, user_scratchpad(), engine, forward);
  const Argument dst = gradient.read(DNNL_ARG_DIFF_DST, primitive.diff_dst_desc(), steps);
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward data", node,
                                 {dst, read_value(DNNL_ARG_WEIGHTS, conv.weights, primitive.weights_desc()),
                                  write_gradient(DNNL_ARG_DIFF_SRC, conv.src, primitive.diff_src_desc())}));
}

}  // namespace

bool conv_supported(const KernelRequest& request) {
  // oneDNN has no primitive for the gradient of the bias alone
  return wants_gradient(request, 1) || !wants_gradient(request, 2);
}

NodeKernels make_conv(const dnnl::engine& engine, const KernelRequest& request) {
  const Convolution conv(request);
  const auto forward = forward_desc(conv, engine, request);
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, conv.src, forward.src_desc()),
                                  read_value(DNNL_ARG_WEIGHTS, conv.weights, forward.weights_desc()),
                                  write_value(DNNL_ARG_DST, conv.dst, forward.dst_desc())};
  if (conv.has_bias) arguments.push_back(read_value(DNNL_ARG_BIAS, conv.bias, conv.bias.plain));
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (!wants_gradient(request, 0) && !wants_gradient(request, 1)) return kernels;
  const ResultGradient gradient(engine, request, conv.dst, forward.dst_desc(), kernels.backward);
  if (wants_gradient(request, 1)) add_weights_step(conv, engine, request, forward, gradient, kernels.backward);
  if (wants_gradient(request, 0)) add_data_step(conv, engine, request, forward, gradient, kernels.backward);
  return kernels;
}

}  // namespace mangrove::onednn
