#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/portable_step.h"

/// Elementwise functions of two inputs a and b, broadcast as numpy does. What goes along a row is compiled for each
/// function and type, and all around it once.
namespace mangrove::portable {

/// Which of the inputs a derivative is computed from.
struct Reads {
  bool a = false;
  bool b = false;
};

/// A part of a row. a and b go on with it (1), or stay on one element (0).
struct BinaryRow {
  std::int64_t elements;
  const std::byte* a;
  std::int64_t along_a;
  const std::byte* b;
  std::int64_t along_b;
};

/// loop(row, y)
using BinaryLoop = std::function<void(const BinaryRow&, std::byte*)>;

/// y from a and b; `sizes`: bytes of an element of a, b and y.
Step binary_step(const KernelRequest& request, const std::array<std::int64_t, 3>& sizes, BinaryLoop loop);

/// loop(row, dy, sum, along_sum): adds to sum, which goes on with the row (1) or stays (0).
using BinaryGradientLoop = std::function<void(const BinaryRow&, const std::byte*, std::byte*, std::int64_t)>;

/// The gradient of input k. What `reads` does not name is not kept for the backward pass, and stays on one element 0.
/// `sizes`: bytes of an element of a, which dy has, too, and of b.
Step binary_gradient_step(const KernelRequest& request, std::size_t k, Reads reads,
                          const std::array<std::int64_t, 2>& sizes, BinaryGradientLoop loop);

/// y = f(a, b); y may lie where an input of its type and shape does.
template <class A, class B, class Y, class F>
Step binary_forward(const KernelRequest& request, F f) {
  Step step = binary_step(request, {sizeof(A), sizeof(B), sizeof(Y)}, [f](const BinaryRow& row, std::byte* to) {
    const A* a = reinterpret_cast<const A*>(row.a);
    const B* b = reinterpret_cast<const B*>(row.b);
    Y* y = reinterpret_cast<Y*>(to);
    with_constant_strides(row.along_a, row.along_b, [&](auto along_a, auto along_b) {
      for (std::int64_t i = 0; i < row.elements; ++i) y[i] = f(a[i * along_a], b[i * along_b]);
    });
  });
  const Shape& output = request.outputs[0].shape;
  if (std::is_same_v<A, Y> && request.inputs[0].shape == output) {
    step.in_place = {0, 2};
  } else if (std::is_same_v<B, Y> && request.inputs[1].shape == output) {
    step.in_place = {1, 2};
  }
  return step;
}

/// The gradient of input k: the sum of slope(dy, a, b) over all elements that it was broadcast to; slope gets 0 for
/// what `reads` does not name.
template <class A, class B, class Slope>
Step binary_gradient(const KernelRequest& request, std::size_t k, Reads reads, Slope slope) {
  using T = decltype(slope(A(), A(), B()));
  return binary_gradient_step(
      request, k, reads, {sizeof(A), sizeof(B)},
      [slope](const BinaryRow& row, const std::byte* gradient, std::byte* to, std::int64_t along_sum) {
        const A* dy = reinterpret_cast<const A*>(gradient);
        const A* a = reinterpret_cast<const A*>(row.a);
        const B* b = reinterpret_cast<const B*>(row.b);
        T* sum = reinterpret_cast<T*>(to);
        with_constant_strides(row.along_a, row.along_b, [&](auto along_a, auto along_b) {
          if (along_sum == 1) {
            for (std::int64_t i = 0; i < row.elements; ++i) sum[i] += slope(dy[i], a[i * along_a], b[i * along_b]);
          } else {
            T total = 0;
            for (std::int64_t i = 0; i < row.elements; ++i) total += slope(dy[i], a[i * along_a], b[i * along_b]);
            *sum += total;
          }
        });
      });
}

/// The kernels of F: value(a, b), to_a(dy, a, b) and to_b(dy, a, b), which read what kForA and kForB say.
template <class T, class F>
NodeKernels binary_kernels(const KernelRequest& request) {
  NodeKernels kernels;
  kernels.forward.push_back(binary_forward<T, T, T>(request, [](T a, T b) { return F::value(a, b); }));
  if constexpr (std::is_floating_point_v<T>) {
    if (wants_gradient(request, 0)) {
      kernels.backward.push_back(
          binary_gradient<T, T>(request, 0, F::kForA, [](T dy, T a, T b) { return F::to_a(dy, a, b); }));
    }
    if (wants_gradient(request, 1)) {
      kernels.backward.push_back(
          binary_gradient<T, T>(request, 1, F::kForB, [](T dy, T a, T b) { return F::to_b(dy, a, b); }));
    }
  }
  return kernels;
}

}  // namespace mangrove::portable
