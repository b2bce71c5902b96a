#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mangrove/engine/portable/axis_rows.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/axis.h"

namespace mangrove::portable {
namespace {

// Rows of n elements, `stride` apart.

template <class T>
T highest_of(const T* src, std::int64_t n, std::int64_t stride) {
  T highest = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < n; ++i) highest = std::max(highest, src[i * stride]);
  return highest;
}

struct Softmax {
  template <class T>
  static void forward(const T* src, std::int64_t n, std::int64_t stride, T* dst) {
    const T highest = highest_of(src, n, stride);  // keeps exp from overflowing
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      dst[i * stride] = std::exp(src[i * stride] - highest);
      sum += dst[i * stride];
    }
    for (std::int64_t i = 0; i < n; ++i) dst[i * stride] /= sum;
  }

  // dx_i = y_i (dy_i - sum_j dy_j y_j)
  template <class T>
  static void backward(const T* dst, const T* diff_dst, std::int64_t n, std::int64_t stride, T* diff_src) {
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += diff_dst[i * stride] * dst[i * stride];
    for (std::int64_t i = 0; i < n; ++i) diff_src[i * stride] = dst[i * stride] * (diff_dst[i * stride] - sum);
  }
};

struct LogSoftmax {
  template <class T>
  static void forward(const T* src, std::int64_t n, std::int64_t stride, T* dst) {
    const T highest = highest_of(src, n, stride);
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(src[i * stride] - highest);
    const T log_sum = std::log(sum);
    for (std::int64_t i = 0; i < n; ++i) dst[i * stride] = src[i * stride] - highest - log_sum;
  }

  // dx_i = dy_i - exp(y_i) sum_j dy_j
  template <class T>
  static void backward(const T* dst, const T* diff_dst, std::int64_t n, std::int64_t stride, T* diff_src) {
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += diff_dst[i * stride];
    for (std::int64_t i = 0; i < n; ++i) diff_src[i * stride] = diff_dst[i * stride] - std::exp(dst[i * stride]) * sum;
  }
};

struct Hardmax {
  template <class T>
  static void forward(const T* src, std::int64_t n, std::int64_t stride, T* dst) {
    std::int64_t largest = 0;
    for (std::int64_t i = 1; i < n; ++i) {
      if (src[i * stride] > src[largest * stride]) largest = i;
    }
    for (std::int64_t i = 0; i < n; ++i) dst[i * stride] = i == largest ? T(1) : T(0);
  }
};

template <class F, class T>
NodeKernels softmax_kernels_of(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const Shape& shape = request.outputs[0].shape;
  const AxisRows rows(shape, resolve_axis(request.node.int_or("axis", -1), shape).value());
  const int threads = request.threads;
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(x), write_value(y)}, [rows, threads](const Buffers& buffers) {
        rows.for_each(threads, [&](std::int64_t at) {
          F::forward(buffers.as<const T>(0) + at, rows.length, rows.stride, buffers.as<T>(1) + at);
        });
      }));
  kernels.forward.back().in_place = {0, 1};
  if constexpr (!std::is_same_v<F, Hardmax>) {
    if (!wants_gradient(request, 0)) return kernels;
    kernels.backward.push_back(make_step(request, "backward", {read_value(y), read_gradient(y), write_gradient(x)},
                                         [rows, threads](const Buffers& buffers) {
                                           rows.for_each(threads, [&](std::int64_t at) {
                                             F::backward(buffers.as<const T>(0) + at, buffers.as<const T>(1) + at,
                                                         rows.length, rows.stride, buffers.as<T>(2) + at);
                                           });
                                         }));
    kernels.backward.back().in_place = {1, 2};
  }
  return kernels;
}

template <class F>
Result<NodeKernels> make_along_axis(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) { return softmax_kernels_of<F, decltype(zero)>(request); });
}

}  // namespace

std::vector<KernelRow> softmaxes() {
  return {{"Hardmax", make_along_axis<Hardmax>},
          {"LogSoftmax", make_along_axis<LogSoftmax>},
          {"Softmax", make_along_axis<Softmax>}};
}

}  // namespace mangrove::portable
