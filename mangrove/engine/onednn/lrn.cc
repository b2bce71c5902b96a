#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {

// Of an even size, ONNX's window has its longer side after the channel, oneDNN's before it.
bool lrn_supported(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  return request.node.int_or("size", 0) % 2 == 1 && rank >= 3 && rank <= 5;
}

NodeKernels make_lrn(const dnnl::engine& engine, const KernelRequest& request) {
  const Node& lrn = request.node;
  const Value src = input_value(request, 0), dst = output_value(request);
  const Desc desc = desc_of(request.layouts[0], src.plain);
  const std::int64_t size = lrn.int_or("size", 1);
  const float alpha = lrn.float_or("alpha", 1e-4f), beta = lrn.float_or("beta", 0.75f), bias = lrn.float_or("bias", 1);
  constexpr auto kAcross = dnnl::algorithm::lrn_across_channels;
  const dnnl::lrn_forward::primitive_desc forward({forward_kind(request), kAcross, desc, size, alpha, beta, bias},
                                                  user_scratchpad(), engine);
  const std::string& node = request.node.name;
  const std::string kept = node + "/kept";
  const bool keeps = request.mode == Mode::training && forward.workspace_desc().get_size() > 0;
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, src, desc),
                                  write_value(DNNL_ARG_DST, dst, forward.dst_desc())};
  if (keeps) arguments.push_back(write_saved(DNNL_ARG_WORKSPACE, kept, forward.workspace_desc()));
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (!wants_gradient(request, 0)) return kernels;
  const dnnl::lrn_backward::primitive_desc backward({kAcross, desc, forward.dst_desc(), size, alpha, beta, bias},
                                                    user_scratchpad(), engine, forward);
  arguments = {read_value(DNNL_ARG_SRC, src, desc), read_gradient(DNNL_ARG_DIFF_DST, dst, backward.diff_dst_desc()),
               write_gradient(DNNL_ARG_DIFF_SRC, src, backward.diff_src_desc())};
  if (keeps) arguments.push_back(read_saved(DNNL_ARG_WORKSPACE, kept, forward.workspace_desc()));
  kernels.backward.push_back(primitive_step(backward, node + " backward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
