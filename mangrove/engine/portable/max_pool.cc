#include <algorithm>

#include "mangrove/engine/portable/pools.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/window_rows.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::portable {
namespace {

using Index = std::int32_t;  // of an element in its plane [H, W]

// The largest element of each window of one plane, and where it is; the first one of several. NaN wins.
template <class T>
void forward_plane(const Window& window, const T* src, T* dst, Index* maxima) {
  const std::int64_t stride = window.strides[1];
  std::fill_n(maxima, window.output[0] * window.output[1], Index{-1});
  for_each_tap_row(window, [&](const TapRow& row) {
    for (std::int64_t k = 0; k < row.count; ++k) {
      const std::int64_t from = row.input + k * stride;
      T& best = dst[row.output + k];
      Index& where = maxima[row.output + k];
      if (where < 0 || src[from] > best || (src[from] != src[from] && best == best)) {
        best = src[from];
        where = static_cast<Index>(from);
      }
    }
  });
}

template <class T>
void backward_plane(const Window& window, const T* diff_dst, const Index* maxima, T* diff_src) {
  std::fill_n(diff_src, window.input[0] * window.input[1], T(0));
  for (std::int64_t k = 0; k < window.output[0] * window.output[1]; ++k) diff_src[maxima[k]] += diff_dst[k];
}

template <class T>
NodeKernels kernels_of(const KernelRequest& request, const PoolGeometry& g) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const std::int64_t planes = g.batch * g.channels;
  const std::int64_t input = g.window.input[0] * g.window.input[1], output = g.window.output[0] * g.window.output[1];
  const Bytes index_bytes = planes * output * static_cast<Bytes>(sizeof(Index));
  const std::string saved = "maxima";
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(x), write_value(y), write_saved(saved, index_bytes)},
                [=](const Buffers& buffers) {
                  for (std::int64_t p = 0; p < planes; ++p) {
                    forward_plane(g.window, buffers.as<const T>(0) + p * input, buffers.as<T>(1) + p * output,
                                  buffers.as<Index>(2) + p * output);
                  }
                }));
  if (!wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(
      make_step(request, "backward", {read_gradient(y), read_saved(saved, index_bytes), write_gradient(x)},
                [=](const Buffers& buffers) {
                  for (std::int64_t p = 0; p < planes; ++p) {
                    backward_plane(g.window, buffers.as<const T>(0) + p * output,
                                   buffers.as<const Index>(1) + p * output, buffers.as<T>(2) + p * input);
                  }
                }));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_max_pool(const KernelRequest& request) {
  MG_TRY(const PoolGeometry geometry, pool_geometry(request.node, request.inputs[0].shape));
  if (geometry.window.input[0] > INT32_MAX / geometry.window.input[1]) {
    return make_error(Code::unimplemented, "input " + to_string(request.inputs[0].shape) + " has too large planes");
  }
  return for_type(request.outputs[0].dtype, [&](auto zero) { return kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
