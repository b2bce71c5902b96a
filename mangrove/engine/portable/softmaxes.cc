#include <algorithm>
#include <cmath>

#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

template <class T>
void softmax_row(const T* src, std::int64_t n, T* dst) {
  const T highest = *std::max_element(src, src + n);  // keeps exp from overflowing
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    dst[i] = std::exp(src[i] - highest);
    sum += dst[i];
  }
  for (std::int64_t i = 0; i < n; ++i) dst[i] /= sum;
}

// dx_i = y_i (dy_i - sum_j dy_j y_j)
template <class T>
void softmax_gradient_row(const T* dst, const T* diff_dst, std::int64_t n, T* diff_src) {
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += diff_dst[i] * dst[i];
  for (std::int64_t i = 0; i < n; ++i) diff_src[i] = dst[i] * (diff_dst[i] - sum);
}

template <class T>
NodeKernels kernels_of(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const Shape& shape = request.outputs[0].shape;
  const std::int64_t n = shape[shape.rank() - 1];
  const std::int64_t rows = n == 0 ? 0 : shape.elements() / n;
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(x), write_value(y)}, [rows, n](const Buffers& buffers) {
        for (std::int64_t row = 0; row < rows; ++row) {
          softmax_row(buffers.as<const T>(0) + row * n, n, buffers.as<T>(1) + row * n);
        }
      }));
  kernels.forward.back().in_place = {0, 1};
  if (!wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(make_step(
      request, "backward", {read_value(y), read_gradient(y), write_gradient(x)}, [rows, n](const Buffers& buffers) {
        for (std::int64_t row = 0; row < rows; ++row) {
          softmax_gradient_row(buffers.as<const T>(0) + row * n, buffers.as<const T>(1) + row * n, n,
                               buffers.as<T>(2) + row * n);
        }
      }));
  kernels.backward.back().in_place = {1, 2};
  return kernels;
}

Result<NodeKernels> make_softmax(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) { return kernels_of<decltype(zero)>(request); });
}

}  // namespace

std::vector<KernelRow> softmaxes() {
  return {{"Softmax", make_softmax}};
}

}  // namespace mangrove::portable
