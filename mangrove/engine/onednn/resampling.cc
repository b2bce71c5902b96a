#include <algorithm>
#include <cmath>

#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/resize_geometry.h"

namespace mangrove::onednn {
namespace {

constexpr double kWeightTolerance = 1e-5;

/// The weight that oneDNN gives element `index` of the data in element i of the result: half-pixel coordinates, halves
/// rounded up, borders repeated.
double weight_of(bool is_nearest, std::int64_t input, std::int64_t output, std::int64_t i, std::int64_t index) {
  const double x = (static_cast<double>(i) + 0.5) * static_cast<double>(input) / static_cast<double>(output) - 0.5;
  if (is_nearest) return static_cast<std::int64_t>(std::round(x)) == index ? 1 : 0;
  const double clamped = std::clamp(x, 0.0, static_cast<double>(input - 1));
  return std::max(0.0, 1 - std::abs(clamped - static_cast<double>(index)));
}

bool is_half_pixel(const ResizeGeometry& geometry, std::size_t axis, std::int64_t input) {
  const auto& taps = geometry.taps[axis];
  for (std::size_t i = 0; i < taps.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < taps[i].size(); ++k) {
      double weight = 0;  // at the border both taps may be the same element
      for (const auto& tap : taps[i]) weight += tap.index == taps[i][k].index ? tap.weight : 0;
      const double expected =
          weight_of(geometry.is_nearest, input, std::ssize(taps), static_cast<std::int64_t>(i), taps[i][k].index);
      if (std::abs(weight - expected) > kWeightTolerance) return false;
      sum += taps[i][k].weight;
    }
    if (std::abs(sum - 1) > kWeightTolerance) return false;
  }
  return true;
}

bool is_whole(const ResizeGeometry& geometry, std::size_t axis, const Shape& input) {
  return geometry.output[axis] == input[axis] && is_half_pixel(geometry, axis, input[axis]);
}

}  // namespace

bool resampling_supported(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const auto geometry = resize_geometry(request.node, input, request.constants);
  if (!geometry.ok() || input.rank() < 3 || input.rank() > 5) return false;
  const std::string mode = request.node.string_or("mode", "nearest");
  if (mode == "cubic" || !is_whole(*geometry, 0, input) || !is_whole(*geometry, 1, input)) return false;
  for (std::size_t axis = 2; axis < input.rank(); ++axis) {
    if (!is_half_pixel(*geometry, axis, input[axis])) return false;
  }
  return true;
}

NodeKernels make_resampling(const dnnl::engine& engine, const KernelRequest& request) {
  const auto algorithm = request.node.string_or("mode", "nearest") == "nearest" ? dnnl::algorithm::resampling_nearest
                                                                                : dnnl::algorithm::resampling_linear;
  const Value src{request.node.inputs[0], plain_desc(request.inputs[0].shape.dims())};
  const Value dst = output_value(request);
  const Desc src_desc = desc_of(request.layouts[0], src.plain);
  const dnnl::resampling_forward::primitive_desc forward(
      {forward_kind(request), algorithm, src_desc, any_desc(dst.plain.dims())}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  NodeKernels kernels;
  kernels.forward.push_back(
      primitive_step(forward, node + " forward", node,
                     {read_value(DNNL_ARG_SRC, src, src_desc), write_value(DNNL_ARG_DST, dst, forward.dst_desc())}));
  if (!wants_gradient(request, 0)) return kernels;
  const dnnl::resampling_backward::primitive_desc backward({algorithm, src_desc, forward.dst_desc()}, user_scratchpad(),
                                                           engine, forward);
  kernels.backward.push_back(primitive_step(backward, node + " backward", node,
                                            {read_gradient(DNNL_ARG_DIFF_DST, dst, backward.diff_dst_desc()),
                                             write_gradient(DNNL_ARG_DIFF_SRC, src, backward.diff_src_desc())}));
  return kernels;
}

}  // namespace mangrove::onednn
