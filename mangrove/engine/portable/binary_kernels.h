#pragma once

#include <cstdint>

#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/portable_step.h"

/// Elementwise functions of two inputs a and b, broadcast as numpy does.
namespace mangrove::portable {

/// Which of the inputs a derivative is computed from.
struct Reads {
  bool a = false;
  bool b = false;
};

/// y = f(a, b); y may lie where an input of its type and shape does.
template <class A, class B, class Y, class F>
Step binary_forward(const KernelRequest& request, F f) {
  const Shape &a_shape = request.inputs[0].shape, &b_shape = request.inputs[1].shape;
  const Shape& output = request.outputs[0].shape;
  const BroadcastRows rows({a_shape, b_shape}, output);
  Step step = make_step(
      request, "forward",
      {read_value(request.node.inputs[0]), read_value(request.node.inputs[1]), write_value(request.output_names[0])},
      [rows, f, threads = request.threads](const Buffers& buffers) {
        rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
          const A* a = buffers.as<const A>(0) + from[0];
          const B* b = buffers.as<const B>(1) + from[1];
          Y* y = buffers.as<Y>(2) + to;
          with_constant_strides(rows.stride(0), rows.stride(1), [&](auto along_a, auto along_b) {
            for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i * along_a], b[i * along_b]);
          });
        });
      });
  if (std::is_same_v<A, Y> && a_shape == output) {
    step.in_place = {0, 2};
  } else if (std::is_same_v<B, Y> && b_shape == output) {
    step.in_place = {1, 2};
  }
  return step;
}

/// The gradient of input k: the sum of slope(dy, a, b) over all elements that it was broadcast to. What `reads` does
/// not name is not kept for the backward pass, and slope gets 0 instead.
template <class A, class B, class Slope>
Step binary_gradient(const KernelRequest& request, std::size_t k, Reads reads, Slope slope) {
  using T = decltype(slope(A(), A(), B()));
  std::vector<Operand> operands{read_gradient(request.output_names[0]), write_gradient(request.node.inputs[k])};
  const std::size_t at_a = operands.size();
  if (reads.a) operands.push_back(read_value(request.node.inputs[0]));
  const std::size_t at_b = operands.size();
  if (reads.b) operands.push_back(read_value(request.node.inputs[1]));
  const Shape& output = request.outputs[0].shape;
  const std::int64_t elements = request.inputs[k].shape.elements();
  // the gradient has its own strides: those of input k
  const BroadcastRows rows({request.inputs[0].shape, request.inputs[1].shape, request.inputs[k].shape}, output);
  const bool is_whole = elements == output.elements();  // each element is added to once
  return make_step(request, k == 0 ? "backward a" : "backward b", std::move(operands),
                   [=, threads = request.threads](const Buffers& buffers) {
                     static constexpr A kNoA{};
                     static constexpr B kNoB{};
                     T* diff = buffers.as<T>(1);
                     std::fill_n(diff, elements, T(0));
                     const auto add_part = [&](std::int64_t to, const auto& from, std::int64_t count) {
                       const A* dy = buffers.as<const A>(0) + to;
                       const A* a = reads.a ? buffers.as<const A>(at_a) + from[0] : &kNoA;
                       const B* b = reads.b ? buffers.as<const B>(at_b) + from[1] : &kNoB;
                       T* sum = diff + from[2];
                       const std::int64_t stride_a = reads.a ? rows.stride(0) : 0,
                                          stride_b = reads.b ? rows.stride(1) : 0;
                       with_constant_strides(stride_a, stride_b, [&](auto along_a, auto along_b) {
                         if (rows.stride(2) == 1) {
                           for (std::int64_t i = 0; i < count; ++i)
                             sum[i] += slope(dy[i], a[i * along_a], b[i * along_b]);
                         } else {
                           T total = 0;
                           for (std::int64_t i = 0; i < count; ++i)
                             total += slope(dy[i], a[i * along_a], b[i * along_b]);
                           *sum += total;
                         }
                       });
                     };
                     if (is_whole) {
                       rows.for_each_part(threads, add_part);
                     } else {
                       rows.for_each_part_adding_to(2, threads, add_part);
                     }
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
