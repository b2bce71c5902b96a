#include <algorithm>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/pools.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/window_rows.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove::portable {
namespace {

using Index = std::int32_t;  // of an element in its plane [H, W]

// The largest element of each window of one plane, and where it is; the first one of several. NaN wins.
template <class T>
void max_pool_forward_plane(const Window& window, const T* src, T* dst, Index* maxima) {
  const std::int64_t stride = window.strides[1];
  std::fill_n(maxima, window.output_plane(), Index{-1});
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
void max_pool_backward_plane(const Window& window, const T* diff_dst, const Index* maxima, T* diff_src) {
  std::fill_n(diff_src, window.input_plane(), T(0));
  for (std::int64_t k = 0; k < window.output_plane(); ++k) diff_src[maxima[k]] += diff_dst[k];
}

/// From maxima in planes to ONNX's indices in the whole input, rows or columns first.
void write_indices(const PoolGeometry& g, std::int64_t plane, const Index* maxima, std::int64_t* indices) {
  const auto [height, width] = g.window.input;
  for (std::int64_t k = 0; k < g.window.output_plane(); ++k) {
    const std::int64_t at = maxima[k];
    indices[k] = plane * height * width + (g.column_major ? at % width * height + at / width : at);
  }
}

constexpr const char* kMaxima = "maxima";

template <class T>
Step max_pool_forward_step(const KernelRequest& request, const PoolGeometry& g, Bytes index_bytes) {
  OperandList operands;
  operands.add(read_value(request.node.inputs[0]));
  operands.add(write_value(request.output_names[0]));
  operands.add(write_saved(kMaxima, index_bytes));
  const std::size_t indices =
      operands.add_if(has_output(request, 1), [&] { return write_value(request.output_names[1]); });
  return make_step(request, "forward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    const std::int64_t input = g.window.input_plane(), output = g.window.output_plane();
    in_parallel(g.batch * g.channels, threads, [&](std::int64_t p) {
      Index* maxima = buffers.as<Index>(2) + p * output;
      max_pool_forward_plane(g.window, buffers.as<const T>(0) + p * input, buffers.as<T>(1) + p * output, maxima);
      if (auto* out = buffers.as<std::int64_t>(indices)) write_indices(g, p, maxima, out + p * output);
    });
  });
}

template <class T>
Step max_pool_backward_step(const KernelRequest& request, const PoolGeometry& g, Bytes index_bytes) {
  return make_step(request, "backward",
                   {read_gradient(request.output_names[0]), read_saved(kMaxima, index_bytes),
                    write_gradient(request.node.inputs[0])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const std::int64_t input = g.window.input_plane(), output = g.window.output_plane();
                     in_parallel(g.batch * g.channels, threads, [&](std::int64_t p) {
                       max_pool_backward_plane(g.window, buffers.as<const T>(0) + p * output,
                                               buffers.as<const Index>(1) + p * output, buffers.as<T>(2) + p * input);
                     });
                   });
}

template <class T>
NodeKernels max_pool_kernels_of(const KernelRequest& request, const PoolGeometry& g) {
  const Bytes index_bytes = g.batch * g.channels * g.window.output_plane() * static_cast<Bytes>(sizeof(Index));
  NodeKernels kernels;
  kernels.forward.push_back(max_pool_forward_step<T>(request, g, index_bytes));
  if (wants_gradient(request, 0)) kernels.backward.push_back(max_pool_backward_step<T>(request, g, index_bytes));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_max_pool(const KernelRequest& request) {
  MG_TRY(const PoolGeometry geometry, pool_geometry(request.node, request.inputs[0].shape));
  if (geometry.window.input[0] > INT32_MAX / geometry.window.input[1]) {
    return make_error(Code::unimplemented, "input " + to_string(request.inputs[0].shape) + " has too large planes");
  }
  if (request.outputs[0].dtype == DType::u8) return max_pool_kernels_of<std::uint8_t>(request, geometry);
  if (request.outputs[0].dtype == DType::i8) return max_pool_kernels_of<std::int8_t>(request, geometry);
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return max_pool_kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
