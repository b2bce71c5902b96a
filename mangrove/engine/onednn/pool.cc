#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

algorithm algorithm_of(const Node& node, const PoolGeometry& geometry) {
  if (node.op == "MaxPool") return algorithm::pooling_max;
  return geometry.count_include_pad ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
}

}  // namespace

bool pool_supported(const KernelRequest& request) {
  return request.outputs.size() == 1;
}

NodeKernels make_pool(const dnnl::engine& engine, const KernelRequest& request) {
  const PoolGeometry geometry = pool_geometry(request.node, request.inputs[0].shape).value();
  const algorithm kind = algorithm_of(request.node, geometry);
  const Dims kernel = as_dims(geometry.window.kernel), strides = as_dims(geometry.window.strides);
  const Dims begin = as_dims(geometry.window.pads_begin), end = as_dims(geometry.window.pads_end);
  const Value src = input_value(request, 0), dst = output_value(request);
  const Desc src_desc = desc_of(request.layouts[0], src.plain);
  const dnnl::pooling_forward::primitive_desc forward(
      {forward_kind(request), kind, src_desc, any_desc(request.outputs[0].shape.dims()), strides, kernel, begin, end},
      user_scratchpad(), engine);
  const std::string& node = request.node.name;
  const std::string maxima = node + "/maxima";  // which element of each window was the largest
  const bool keeps_maxima = kind == algorithm::pooling_max && request.mode == Mode::training;
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, src, src_desc),
                                  write_value(DNNL_ARG_DST, dst, forward.dst_desc())};
  if (keeps_maxima) arguments.push_back(write_saved(DNNL_ARG_WORKSPACE, maxima, forward.workspace_desc()));
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (!wants_gradient(request, 0)) return kernels;

  const dnnl::pooling_backward::primitive_desc backward(
      {kind, src_desc, forward.dst_desc(), strides, kernel, begin, end}, user_scratchpad(), engine, forward);
  arguments = {read_gradient(DNNL_ARG_DIFF_DST, dst, backward.diff_dst_desc()),
               write_gradient(DNNL_ARG_DIFF_SRC, src, backward.diff_src_desc())};
  if (keeps_maxima) arguments.push_back(read_saved(DNNL_ARG_WORKSPACE, maxima, forward.workspace_desc()));
  kernels.backward.push_back(primitive_step(backward, node + " backward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
