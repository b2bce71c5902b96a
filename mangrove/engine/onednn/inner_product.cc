#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/epilogue.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/gemm_geometry.h"

namespace mangrove::onednn {
namespace {

/// y [M, N] = x [M, K] w^T + b in oneDNN's terms: weights are [N, K], whichever way ONNX has them.
struct InnerProduct {
  explicit InnerProduct(const KernelRequest& request);

  Value src, weights, bias, dst;
  bool has_bias;
  Dims src_dims, weights_dims, dst_dims;
};

InnerProduct::InnerProduct(const KernelRequest& request) {
  const GemmGeometry geometry = gemm_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape).value();
  src_dims = request.inputs[0].shape.dims();
  dst_dims = request.outputs[0].shape.dims();
  weights_dims = {dst_dims[1], src_dims[1]};
  src = input_value(request, 0);
  dst = output_value(request);
  weights = {request.node.inputs[1], geometry.transpose_b
                                         ? plain_desc(weights_dims)
                                         : Desc(weights_dims, dnnl::memory::data_type::f32, Dims{1, weights_dims[0]})};
  has_bias = has_input(request, 2);
  if (has_bias) bias = {request.node.inputs[2], plain_desc({dst_dims[1]})};
}

dnnl::inner_product_forward::primitive_desc forward_desc(const InnerProduct& product, const dnnl::engine& engine,
                                                         const KernelRequest& request) {
  using Forward = dnnl::inner_product_forward;
  const auto kind = forward_kind(request);
  const Desc src = any_desc(product.src_dims), weights = any_desc(product.weights_dims),
             dst = any_desc(product.dst_dims);
  const auto desc = product.has_bias ? Forward::desc(kind, src, weights, product.bias.plain, dst)
                                     : Forward::desc(kind, src, weights, dst);
  return {desc, attributes_with_epilogue(request), engine};
}

void add_weights_step(const InnerProduct& product, const dnnl::engine& engine, const KernelRequest& request,
                      const dnnl::inner_product_forward::primitive_desc& forward, const ResultGradient& gradient,
                      std::vector<Step>& steps) {
  using Backward = dnnl::inner_product_backward_weights;
  const bool with_bias = product.has_bias && wants_gradient(request, 2);
  const Desc src = any_desc(product.src_dims), weights = any_desc(product.weights_dims),
             dst = any_desc(product.dst_dims);
  const auto desc =
      with_bias ? Backward::desc(src, weights, product.bias.plain, dst) : Backward::desc(src, weights, dst);
  const Backward::primitive_desc primitive(desc, user_scratchpad(), engine, forward);
  std::vector<Argument> arguments{
      read_value(DNNL_ARG_SRC, product.src, primitive.src_desc()),
      gradient.read(DNNL_ARG_DIFF_DST, primitive.diff_dst_desc(), steps),
      write_gradient(DNNL_ARG_DIFF_WEIGHTS, product.weights, primitive.diff_weights_desc())};
  if (with_bias) arguments.push_back(write_gradient(DNNL_ARG_DIFF_BIAS, product.bias, product.bias.plain));
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward weights", node, std::move(arguments)));
}

void add_data_step(const InnerProduct& product, const dnnl::engine& engine, const KernelRequest& request,
                   const dnnl::inner_product_forward::primitive_desc& forward, const ResultGradient& gradient,
                   std::vector<Step>& steps) {
  const dnnl::inner_product_backward_data::desc desc(any_desc(product.src_dims), any_desc(product.weights_dims),
                                                     any_desc(product.dst_dims));
  const dnnl::inner_product_backward_data::primitive_desc primitive(desc, user_scratchpad(), engine, forward);
  const Argument dst = gradient.read(DNNL_ARG_DIFF_DST, primitive.diff_dst_desc(), steps);
  const std::string& node = request.node.name;
  steps.push_back(primitive_step(primitive, node + " backward data", node,
                                 {dst, read_value(DNNL_ARG_WEIGHTS, product.weights, primitive.weights_desc()),
                                  write_gradient(DNNL_ARG_DIFF_SRC, product.src, primitive.diff_src_desc())}));
}

}  // namespace

bool inner_product_supported(const KernelRequest& request) {
  if (request.inputs[0].shape.rank() != 2 || request.inputs[1].shape.rank() != 2) return false;
  const GemmGeometry geometry = gemm_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape).value();
  if (geometry.transpose_a || geometry.alpha != 1.0f) return false;
  if (!has_input(request, 2)) return true;
  // only a row that is added to every row; oneDNN has no primitive for the gradient of the bias alone
  const Shape& bias = request.inputs[2].shape;
  if (geometry.beta != 1.0f || (bias != Shape{geometry.n} && bias != Shape{1, geometry.n})) return false;
  return !wants_gradient(request, 2) || wants_gradient(request, 1);
}

NodeKernels make_inner_product(const dnnl::engine& engine, const KernelRequest& request) {
  const InnerProduct product(request);
  const auto forward = forward_desc(product, engine, request);
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, product.src, forward.src_desc()),
                                  read_value(DNNL_ARG_WEIGHTS, product.weights, forward.weights_desc()),
                                  write_value(DNNL_ARG_DST, product.dst, forward.dst_desc())};
  if (product.has_bias) arguments.push_back(read_value(DNNL_ARG_BIAS, product.bias, product.bias.plain));
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (!wants_gradient(request, 0) && !wants_gradient(request, 1)) return kernels;
  const ResultGradient gradient(engine, request, product.dst, forward.dst_desc(), kernels.backward);
  if (wants_gradient(request, 1)) add_weights_step(product, engine, request, forward, gradient, kernels.backward);
  if (wants_gradient(request, 0)) add_data_step(product, engine, request, forward, gradient, kernels.backward);
  return kernels;
}

}  // namespace mangrove::onednn
