#include <algorithm>

#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

/// One pooling in oneDNN's terms.
struct Pooling {
  explicit Pooling(const KernelRequest& request);

  algorithm kind = algorithm::pooling_max;
  Dims kernel, strides, dilations, begin, end;
  bool counts_beyond = false;  // a window that was rounded up sticks out of padding that counts
};

Pooling::Pooling(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const PoolGeometry geometry = pool_geometry(request.node, input).value();
  const Window& window = geometry.window;
  if (request.node.op == "AveragePool" || request.node.op == "GlobalAveragePool") {
    kind = geometry.count_include_pad ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  }
  if (request.node.op.starts_with("Global")) {  // one window over all, in the input's own dimensions
    kernel.assign(input.begin() + 2, input.end());
    strides.assign(kernel.size(), 1);
    dilations = begin = end = Dims(kernel.size(), 0);
    return;
  }
  kernel = window.spatial(window.kernel);
  strides = window.spatial(window.strides);
  dilations = window.spatial(window.dilations);
  for (std::int64_t& dilation : dilations) dilation -= 1;  // oneDNN counts the gaps, ONNX the distance
  begin = window.spatial(window.pads_begin);
  Window::Pair reached = window.pads_end;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t last = (window.output[axis] - 1) * window.strides[axis] + window.extent(axis);
    reached[axis] = std::max(reached[axis], last - window.input[axis] - window.pads_begin[axis]);
  }
  counts_beyond = geometry.count_include_pad && reached != window.pads_end;
  end = window.spatial(reached);
}

bool is_byte(const ValueInfo& info) {
  return info.dtype == DType::u8 || info.dtype == DType::i8;
}

/// Images of one pixel lie plain and channels last at once; oneDNN only has fast kernels for what is called the latter.
Desc lying_channels_last(const Desc& desc) {
  const Dims dims = desc.dims();
  const bool is_pixel = std::all_of(dims.begin() + 2, dims.end(), [](std::int64_t dim) { return dim == 1; });
  if (!is_pixel || dims.size() != 4 || desc != plain_desc(dims)) return desc;
  return channels_last_desc(dims, DType::f32);
}

/// How the step wants its input: floats as they lie; bytes channels last, the only way that oneDNN pools them fast.
Desc wanted_desc(const KernelRequest& request, const Value& src) {
  if (is_byte(request.inputs[0])) return channels_last_desc(src.plain.dims(), request.inputs[0].dtype);
  return lying_channels_last(desc_of(request.layouts[0], src.plain));
}

}  // namespace

bool pool_supported(const KernelRequest& request) {
  if (is_byte(request.inputs[0]) && request.inputs[0].shape.rank() != 4) return false;
  return request.outputs.size() == 1 && !Pooling(request).counts_beyond;
}

NodeKernels make_pool(const dnnl::engine& engine, const KernelRequest& request) {
  const Pooling pool(request);
  const Value src = input_value(request, 0), dst = output_value(request);
  const Desc src_desc = wanted_desc(request, src);
  const bool trains = request.mode == Mode::training && !is_byte(request.inputs[0]);
  const dnnl::pooling_v2_forward::primitive_desc forward(
      {trains ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, pool.kind, src_desc,
       any_desc(request.outputs[0].shape.dims(), request.outputs[0].dtype), pool.strides, pool.kernel, pool.dilations,
       pool.begin, pool.end},
      user_scratchpad(), engine);
  const std::string& node = request.node.name;
  const std::string maxima = node + "/maxima";  // which element of each window was the largest
  const bool keeps_maxima = pool.kind == algorithm::pooling_max && trains;
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, src, src_desc),
                                  write_value(DNNL_ARG_DST, dst, forward.dst_desc())};
  if (keeps_maxima) arguments.push_back(write_saved(DNNL_ARG_WORKSPACE, maxima, forward.workspace_desc()));
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (!wants_gradient(request, 0)) return kernels;

  const dnnl::pooling_v2_backward::primitive_desc backward(
      {pool.kind, src_desc, forward.dst_desc(), pool.strides, pool.kernel, pool.dilations, pool.begin, pool.end},
      user_scratchpad(), engine, forward);
  arguments = {read_gradient(DNNL_ARG_DIFF_DST, dst, backward.diff_dst_desc()),
               write_gradient(DNNL_ARG_DIFF_SRC, src, backward.diff_src_desc())};
  if (keeps_maxima) arguments.push_back(read_saved(DNNL_ARG_WORKSPACE, maxima, forward.workspace_desc()));
  kernels.backward.push_back(primitive_step(backward, node + " backward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
