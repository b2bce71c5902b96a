#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/axis.h"

namespace mangrove::onednn {

bool softmax_supported(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  return rank >= 1 && rank <= 6;
}

NodeKernels make_softmax(const dnnl::engine& engine, const KernelRequest& request) {
  const Value src = input_value(request, 0), dst = output_value(request);
  const int axis = static_cast<int>(resolve_axis(request.node.int_or("axis", -1), request.inputs[0].shape).value());
  const auto algorithm =
      request.node.op == "LogSoftmax" ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  // plain, since padding has no place in a softmax
  const dnnl::softmax_v2_forward::primitive_desc forward({forward_kind(request), algorithm, src.plain, dst.plain, axis},
                                                         user_scratchpad(), engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(
      primitive_step(forward, node + " forward", node,
                     {read_value(DNNL_ARG_SRC, src, src.plain), write_value(DNNL_ARG_DST, dst, dst.plain)}));
  if (!wants_gradient(request, 0)) return kernels;
  const dnnl::softmax_v2_backward::primitive_desc backward({algorithm, src.plain, dst.plain, dst.plain, axis},
                                                           user_scratchpad(), engine, forward);
  kernels.backward.push_back(
      primitive_step(backward, node + " backward", node,
                     {read_value(DNNL_ARG_DST, dst, dst.plain), read_gradient(DNNL_ARG_DIFF_DST, dst, dst.plain),
                      write_gradient(DNNL_ARG_DIFF_SRC, src, src.plain)}));
  return kernels;
}

}  // namespace mangrove::onednn
