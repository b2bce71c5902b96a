#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/axis.h"

namespace mangrove::onednn {
namespace {

/// Part of a value along one dimension, where it lies in the whole. Throws dnnl::error where a block of the layout is
/// cut through.
Desc part_of(const Desc& whole, const Dims& dims, std::size_t axis, std::int64_t offset) {
  Dims offsets(dims.size(), 0);
  offsets[axis] = offset;
  return whole.submemory_desc(dims, offsets);
}

/// The gradient of `part` out of that of the whole, which is read as it lies in `layout`.
Step take_step(const dnnl::engine& engine, const std::string& node, const Value& whole, const Desc& layout,
               std::size_t axis, std::int64_t offset, const Value& part, const Desc& part_desc) {
  Argument from = read_gradient(DNNL_ARG_FROM, whole, layout);
  from.desc = part_of(layout, part.plain.dims(), axis, offset);
  return copy_step(engine, node + " backward " + part.name, node, from, write_gradient(DNNL_ARG_TO, part, part_desc));
}

}  // namespace

bool concat_supported(const KernelRequest& request) {
  const std::size_t rank = request.outputs[0].shape.rank();
  return request.inputs.size() >= 2 && rank >= 2 && rank <= 5;
}

NodeKernels make_concat(const dnnl::engine& engine, const KernelRequest& request) {
  const std::size_t axis = resolve_axis(request.node.int_or("axis", 0), request.outputs[0].shape).value();
  const std::string& node = request.node.name;
  const Value dst = output_value(request);
  std::vector<Desc> srcs;
  for (std::size_t k = 0; k < request.inputs.size(); ++k) {
    srcs.push_back(desc_of(request.layouts[k], input_value(request, k).plain));
  }
  // oneDNN joins in the layout of the inputs where whole blocks meet, else in plain
  const dnnl::concat::primitive_desc forward(static_cast<int>(axis), srcs, engine, user_scratchpad());
  std::vector<Argument> arguments;
  for (std::size_t k = 0; k < srcs.size(); ++k) {
    arguments.push_back(read_value(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k), input_value(request, k), srcs[k]));
  }
  arguments.push_back(write_value(DNNL_ARG_DST, dst, forward.dst_desc()));
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < srcs.size(); ++k) {
    if (wants_gradient(request, k)) {
      kernels.backward.push_back(
          take_step(engine, node, dst, forward.dst_desc(), axis, offset, input_value(request, k), srcs[k]));
    }
    offset += request.inputs[k].shape[axis];
  }
  return kernels;
}

}  // namespace mangrove::onednn
