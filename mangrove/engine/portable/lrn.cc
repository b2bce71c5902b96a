#include <algorithm>
#include <cmath>

#include "mangrove/engine/portable/normalizations.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

/// An LRN node over [batch, channels, plane].
struct LrnSizes {
  std::int64_t batch, channels, plane, size;
  double alpha, beta, bias;

  // The channels whose squares count for channel c: [first(c), last(c)).
  std::int64_t first(std::int64_t c) const { return std::max<std::int64_t>(c - (size - 1) / 2, 0); }
  std::int64_t last(std::int64_t c) const { return std::min(c + size / 2 + 1, channels); }
};

LrnSizes geometry_of(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const Node& node = request.node;
  const std::int64_t most = 2 * shape[1] + 1;  // a larger window sees no more; keeps first and last from overflowing
  return {.batch = shape[0],
          .channels = shape[1],
          .plane = shape.elements(2, shape.rank()),
          .size = std::min(node.int_or("size", 1), most),
          .alpha = static_cast<double>(node.float_or("alpha", 1e-4f)) / static_cast<double>(node.int_or("size", 1)),
          .beta = node.float_or("beta", 0.75f),
          .bias = node.float_or("bias", 1)};
}

/// scale_c = bias + alpha / size sum_k x_k^2, for one plane of one channel.
template <class T>
void scale_plane(const LrnSizes& g, const T* sample, std::int64_t c, T* scale) {
  std::fill_n(scale, g.plane, static_cast<T>(g.bias));
  for (std::int64_t k = g.first(c); k < g.last(c); ++k) {
    const T* x = sample + k * g.plane;
    for (std::int64_t i = 0; i < g.plane; ++i) scale[i] += static_cast<T>(g.alpha) * x[i] * x[i];
  }
}

template <class T>
Step lrn_forward_step(const KernelRequest& request, const LrnSizes& g) {
  return make_step(request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
                   [g](const Buffers& buffers) {
                     for (std::int64_t p = 0; p < g.batch * g.channels; ++p) {
                       const T* x = buffers.as<const T>(0);
                       T* y = buffers.as<T>(1) + p * g.plane;
                       scale_plane(g, x + p / g.channels * g.channels * g.plane, p % g.channels, y);
                       for (std::int64_t i = 0; i < g.plane; ++i) {
                         y[i] = x[p * g.plane + i] * std::pow(y[i], static_cast<T>(-g.beta));
                       }
                     }
                   });
}

/// dx_k = dy_k scale_k^-beta - 2 alpha / size beta x_k sum over c that see k of dy_c x_c scale_c^(-beta - 1).
template <class T>
void backward_sample(const LrnSizes& g, const T* x, const T* dy, T* scale, T* dx) {
  const T beta = static_cast<T>(g.beta), factor = static_cast<T>(2 * g.alpha * g.beta);
  for (std::int64_t c = 0; c < g.channels; ++c) {
    const std::int64_t at = c * g.plane;
    scale_plane(g, x, c, scale + at);
    for (std::int64_t i = at; i < at + g.plane; ++i) dx[i] = dy[i] * std::pow(scale[i], -beta);
  }
  for (std::int64_t c = 0; c < g.channels; ++c) {
    const std::int64_t at = c * g.plane;
    for (std::int64_t i = at; i < at + g.plane; ++i) scale[i] = dy[i] * x[i] * std::pow(scale[i], -beta - 1) * factor;
    for (std::int64_t k = g.first(c); k < g.last(c); ++k) {
      for (std::int64_t i = 0; i < g.plane; ++i) dx[k * g.plane + i] -= scale[at + i] * x[k * g.plane + i];
    }
  }
}

template <class T>
Step lrn_backward_step(const KernelRequest& request, const LrnSizes& g) {
  const std::string& x = request.node.inputs[0];
  const std::int64_t sample = g.channels * g.plane;
  return make_step_with_workspace(
      request, "backward", {read_value(x), read_gradient(request.output_names[0]), write_gradient(x)},
      sample * static_cast<Bytes>(sizeof(T)), [g, sample](const Buffers& buffers, std::byte* workspace) {
        for (std::int64_t n = 0; n < g.batch; ++n) {
          backward_sample(g, buffers.as<const T>(0) + n * sample, buffers.as<const T>(1) + n * sample,
                          reinterpret_cast<T*>(workspace), buffers.as<T>(2) + n * sample);
        }
      });
}

template <class T>
NodeKernels lrn_kernels_of(const KernelRequest& request, const LrnSizes& g) {
  NodeKernels kernels;
  kernels.forward.push_back(lrn_forward_step<T>(request, g));
  if (wants_gradient(request, 0)) kernels.backward.push_back(lrn_backward_step<T>(request, g));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_lrn(const KernelRequest& request) {
  const LrnSizes geometry = geometry_of(request);
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return lrn_kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
