#include <algorithm>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/pools.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/vector_ops.h"
#include "mangrove/engine/portable/window_rows.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::portable {
namespace {

/// Along one axis, how many taps of the window at each position are counted: those inside the input, or also those in
/// its padding (but not beyond, where a window that was rounded up sticks out).
std::vector<std::int64_t> counted_taps(const PoolGeometry& g, std::size_t axis) {
  const Window& w = g.window;
  const std::int64_t first = g.count_include_pad ? -w.pads_begin[axis] : 0;
  const std::int64_t last = w.input[axis] + (g.count_include_pad ? w.pads_end[axis] : 0);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(w.output[axis]), 0);
  for (std::int64_t position = 0; position < w.output[axis]; ++position) {
    const std::int64_t begin = position * w.strides[axis] - w.pads_begin[axis];
    counts[static_cast<std::size_t>(position)] = std::min(begin + w.kernel[axis], last) - std::max(begin, first);
  }
  return counts;
}

/// 1 / the number of elements that each window's mean is over: output plane [H', W'].
template <class T>
std::vector<T> window_weights(const PoolGeometry& g) {
  std::vector<T> weights;
  for (const std::int64_t rows : counted_taps(g, 0)) {
    for (const std::int64_t columns : counted_taps(g, 1)) weights.push_back(T(1) / static_cast<T>(rows * columns));
  }
  return weights;
}

/// One position that reads each element once.
bool is_global(const Window& w) {
  return w.output_plane() == 1 && w.kernel == w.input && w.dilations == Window::Pair{1, 1} &&
         w.pads_begin == Window::Pair{0, 0};
}

template <class T>
void average_pool_forward_plane(const Window& window, const std::vector<T>& weights, const T* src, T* dst) {
  if (is_global(window)) {
    dst[0] = sum(window.input_plane(), src) * weights[0];
    return;
  }
  std::fill_n(dst, weights.size(), T(0));
  for_each_tap_row(
      window, [&](const TapRow& row) { axpy(row.count, T(1), src + row.input, window.strides[1], dst + row.output); });
  for (std::size_t i = 0; i < weights.size(); ++i) dst[i] *= weights[i];
}

template <class T>
void average_pool_backward_plane(const Window& window, const std::vector<T>& weights, const T* diff_dst, T* diff_src) {
  if (is_global(window)) {
    std::fill_n(diff_src, window.input_plane(), diff_dst[0] * weights[0]);
    return;
  }
  std::fill_n(diff_src, window.input_plane(), T(0));
  for_each_tap_row(window, [&](const TapRow& row) {
    for (std::int64_t k = 0; k < row.count; ++k) {
      diff_src[row.input + k * window.strides[1]] +=
          diff_dst[row.output + k] * weights[static_cast<std::size_t>(row.output + k)];
    }
  });
}

template <class T>
NodeKernels average_pool_kernels_of(const KernelRequest& request, const PoolGeometry& g) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const std::int64_t planes = g.batch * g.channels;
  const std::int64_t input = g.window.input_plane(), output = g.window.output_plane();
  const std::vector<T> weights = window_weights<T>(g);
  NodeKernels kernels;
  kernels.forward.push_back(make_step(
      request, "forward", {read_value(x), write_value(y)}, [=, threads = request.threads](const Buffers& buffers) {
        in_parallel(planes, threads, [&](std::int64_t p) {
          average_pool_forward_plane(g.window, weights, buffers.as<const T>(0) + p * input,
                                     buffers.as<T>(1) + p * output);
        });
      }));
  if (!wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(make_step(request, "backward", {read_gradient(y), write_gradient(x)},
                                       [=, threads = request.threads](const Buffers& buffers) {
                                         in_parallel(planes, threads, [&](std::int64_t p) {
                                           average_pool_backward_plane(g.window, weights,
                                                                       buffers.as<const T>(0) + p * output,
                                                                       buffers.as<T>(1) + p * input);
                                         });
                                       }));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_average_pool(const KernelRequest& request) {
  MG_TRY(const PoolGeometry geometry, pool_geometry(request.node, request.inputs[0].shape));
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return average_pool_kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
