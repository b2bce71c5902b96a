#include <algorithm>
#include <cstring>
#include <map>

#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/portable/portable_backend.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

algorithm algorithm_of(const std::string& op) {
  static const std::map<std::string, algorithm> algorithms{
      {"Add", algorithm::binary_add}, {"Div", algorithm::binary_div}, {"Max", algorithm::binary_max},
      {"Min", algorithm::binary_min}, {"Mul", algorithm::binary_mul}, {"Sub", algorithm::binary_sub}};
  return algorithms.at(op);
}

/// Which input has the output's shape; of two the one that a kernel has laid out.
std::optional<std::size_t> whole_input(const KernelRequest& request) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < 2; ++i) {
    if (request.inputs[i].shape == request.outputs[0].shape &&
        (!found || (request.layouts[i] && !request.layouts[*found])))
      found = i;
  }
  return found;
}

/// A smaller input beside a result that lies as `desc`: with as many dimensions, and its channels in the same blocks.
Desc broadcast_desc(const Dims& dims, const Desc& desc) {
  const auto& blocking = desc.data.format_desc.blocking;
  const bool blocked_channels = dims.size() == 4 && dims[1] > 1 && desc.data.format_kind == dnnl_blocked &&
                                blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1;
  if (!blocked_channels) return plain_desc(dims);
  const auto tag = blocking.inner_blks[0] == 16  ? dnnl::memory::format_tag::aBcd16b
                   : blocking.inner_blks[0] == 8 ? dnnl::memory::format_tag::aBcd8b
                                                 : dnnl::memory::format_tag::aBcd4b;
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

/// An input as oneDNN sees it, with as many dimensions as the result, and how the steps want it to lie.
struct Source {
  Value value;
  Desc desc;
};

Source source_of(const KernelRequest& request, std::size_t i, const Desc& result) {
  const Shape &shape = request.inputs[i].shape, &output = request.outputs[0].shape;
  if (shape == output) return {input_value(request, i), result};
  Dims dims(output.rank() - shape.rank(), 1);
  dims.insert(dims.end(), shape.begin(), shape.end());
  const Value value{request.node.inputs[i], plain_desc(dims)};
  return {value, broadcast_desc(dims, result)};
}

/// oneDNN's reference kernels are slower than reorders to plain layout and the portable kernel.
template <class Primitive>
const Primitive& fast(const Primitive& primitive) {
  if (std::strncmp(primitive.impl_info_str(), "ref", 3) == 0) {
    throw dnnl::error(dnnl_unimplemented, "it has a reference kernel only");
  }
  return primitive;
}

/// diff = dy op other, where `other` may be broadcast.
Step gradient_by(const dnnl::engine& engine, const KernelRequest& request, algorithm op, const Source& other,
                 const Source& source) {
  const Desc& desc = source.desc;
  const dnnl::binary::primitive_desc primitive({op, desc, other.desc, desc}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  return primitive_step(
      fast(primitive), node + " backward", node,
      {read_gradient(DNNL_ARG_SRC_0, output_value(request), desc), read_value(DNNL_ARG_SRC_1, other.value, other.desc),
       write_gradient(DNNL_ARG_DST, source.value, desc)});
}

Step negated_gradient(const dnnl::engine& engine, const KernelRequest& request, const Source& source) {
  const Desc& desc = source.desc;
  const dnnl::eltwise_forward::primitive_desc primitive(
      {dnnl::prop_kind::forward_inference, algorithm::eltwise_linear, desc, -1.0f, 0.0f}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  return primitive_step(
      primitive, node + " backward", node,
      {read_gradient(DNNL_ARG_SRC, output_value(request), desc), write_gradient(DNNL_ARG_DST, source.value, desc)});
}

/// The portable step for input k: what sums over the elements that it was broadcast to, and rare cases.
Step portable_gradient(const KernelRequest& request, std::size_t k) {
  const NodeKernels portable = make_portable_backend()->make_kernels(request).value();
  // one step for each input that wants a gradient, in their order
  return portable.backward.at(k == 1 && wants_gradient(request, 0) ? 1 : 0);
}

Step gradient(const dnnl::engine& engine, const KernelRequest& request, std::size_t k, const Source& source,
              const Source& other) {
  const std::string &op = request.node.op, &node = request.node.name;
  if (request.inputs[k].shape != request.outputs[0].shape) return portable_gradient(request, k);
  if (op == "Mul") return gradient_by(engine, request, algorithm::binary_mul, other, source);
  if (op == "Div" && k == 0) return gradient_by(engine, request, algorithm::binary_div, other, source);
  if (op == "Sub" && k == 1) return negated_gradient(engine, request, source);
  if (op != "Add" && op != "Sub") return portable_gradient(request, k);
  return copy_step(engine, node + " backward", node, read_gradient(DNNL_ARG_FROM, output_value(request), source.desc),
                   write_gradient(DNNL_ARG_TO, source.value, source.desc));
}

}  // namespace

bool binary_supported(const KernelRequest& request) {
  if (eltwise_supported(request)) return true;
  const bool of_two = request.inputs.size() == 2 && whole_input(request);
  // the portable kernels of extremes keep more for the backward pass than oneDNN's give
  const bool extreme = request.node.op == "Max" || request.node.op == "Min";
  const std::size_t rank = request.outputs[0].shape.rank();
  return of_two && rank >= 1 && rank <= 5 && !(extreme && request.mode == Mode::training);
}

NodeKernels make_binary(const dnnl::engine& engine, const KernelRequest& request) {
  if (eltwise_supported(request)) return make_eltwise(engine, request);
  const Value dst = output_value(request);
  const Desc desc = desc_of(request.layouts[*whole_input(request)], dst.plain);
  const Source sources[] = {source_of(request, 0, desc), source_of(request, 1, desc)};
  const dnnl::binary::primitive_desc forward({algorithm_of(request.node.op), sources[0].desc, sources[1].desc, desc},
                                             user_scratchpad(), engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(
      fast(forward), node + " forward", node,
      {read_value(DNNL_ARG_SRC_0, sources[0].value, sources[0].desc),
       read_value(DNNL_ARG_SRC_1, sources[1].value, sources[1].desc), write_value(DNNL_ARG_DST, dst, desc)}));
  if (sources[0].desc == desc) kernels.forward.back().in_place = {0, 2};
  for (std::size_t k = 0; k < 2; ++k) {
    if (wants_gradient(request, k))
      kernels.backward.push_back(gradient(engine, request, k, sources[k], sources[1 - k]));
  }
  return kernels;
}

}  // namespace mangrove::onednn
