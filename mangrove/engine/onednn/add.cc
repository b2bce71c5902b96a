#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {

bool add_supported(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  return shape == request.inputs[1].shape && shape.rank() >= 1 && shape.rank() <= 5;
}

NodeKernels make_add(const dnnl::engine& engine, const KernelRequest& request) {
  const Value a = input_value(request, 0), b = input_value(request, 1), dst = output_value(request);
  // what the first one lies in serves both; a plain one follows the other, which a kernel has laid out
  const LayoutPtr& layout = request.layouts[0] ? request.layouts[0] : request.layouts[1];
  const Desc desc = desc_of(layout, a.plain);
  const dnnl::binary::primitive_desc forward({dnnl::algorithm::binary_add, desc, desc, desc}, user_scratchpad(),
                                             engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node,
                                           {read_value(DNNL_ARG_SRC_0, a, desc), read_value(DNNL_ARG_SRC_1, b, desc),
                                            write_value(DNNL_ARG_DST, dst, desc)}));
  kernels.forward.back().in_place = {0, 2};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!wants_gradient(request, i)) continue;
    kernels.backward.push_back(copy_step(engine, node + " backward", node, read_gradient(DNNL_ARG_FROM, dst, desc),
                                         write_gradient(DNNL_ARG_TO, i == 0 ? a : b, desc)));
  }
  return kernels;
}

}  // namespace mangrove::onednn
