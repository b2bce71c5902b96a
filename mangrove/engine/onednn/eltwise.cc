#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {

bool eltwise_supported(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  return find_activation(request.node, request.constants) && rank >= 1 && rank <= 6;
}

NodeKernels make_eltwise(const dnnl::engine& engine, const KernelRequest& request) {
  const Activation activation = *find_activation(request.node, request.constants);
  const Value src = input_value(request, 0), dst = output_value(request);
  const Desc desc = desc_of(request.layouts[0], src.plain);
  const dnnl::eltwise_forward::primitive_desc forward(
      {forward_kind(request), activation.forward, desc, activation.alpha, activation.beta}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(
      forward, node + " forward", node, {read_value(DNNL_ARG_SRC, src, desc), write_value(DNNL_ARG_DST, dst, desc)}));
  kernels.forward.back().in_place = {0, 1};
  if (wants_gradient(request, 0)) {
    kernels.backward.push_back(
        activation_backward(engine, activation, node, dst, desc, write_gradient(DNNL_ARG_DIFF_SRC, src, desc)));
  }
  return kernels;
}

}  // namespace mangrove::onednn
