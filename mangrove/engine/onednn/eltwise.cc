#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {
namespace {

/// dx = dy f'(x)
Step backward_from_input(const dnnl::engine& engine, const Activation& function, const std::string& node,
                         const Value& x, const Value& y, const Desc& desc) {
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, function.forward, desc, function.alpha, function.beta}, engine);
  const dnnl::eltwise_backward::primitive_desc backward({function.backward, desc, desc, function.alpha, function.beta},
                                                        user_scratchpad(), engine, forward);
  Step step = primitive_step(backward, node + " backward", node,
                             {read_value(DNNL_ARG_SRC, x, desc), read_gradient(DNNL_ARG_DIFF_DST, y, desc),
                              write_gradient(DNNL_ARG_DIFF_SRC, x, desc)});
  step.in_place = {1, 2};
  return step;
}

}  // namespace

bool eltwise_supported(const KernelRequest& request) {
  const std::size_t rank = request.outputs[0].shape.rank();
  return find_eltwise(request) && rank >= 1 && rank <= 6;
}

NodeKernels make_eltwise(const dnnl::engine& engine, const KernelRequest& request) {
  const Eltwise eltwise = *find_eltwise(request);
  const Activation& function = eltwise.function;
  const Value src = input_value(request, eltwise.input), dst = output_value(request);
  const Desc desc = desc_of(request.layouts[eltwise.input], src.plain);
  const dnnl::eltwise_forward::primitive_desc forward(
      {forward_kind(request), function.forward, desc, function.alpha, function.beta}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(
      forward, node + " forward", node, {read_value(DNNL_ARG_SRC, src, desc), write_value(DNNL_ARG_DST, dst, desc)}));
  kernels.forward.back().in_place = {0, 1};
  if (wants_gradient(request, eltwise.input)) {
    kernels.backward.push_back(eltwise.from_output ? activation_backward(engine, function, node, dst, desc,
                                                                         write_gradient(DNNL_ARG_DIFF_SRC, src, desc))
                                                   : backward_from_input(engine, function, node, src, dst, desc));
  }
  return kernels;
}

}  // namespace mangrove::onednn
