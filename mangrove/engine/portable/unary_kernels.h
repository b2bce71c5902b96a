#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/engine/portable/portable_step.h"

/// Elementwise functions of one input. What goes over the elements is compiled for each function and type, and all
/// around it once: a kernel is little more than a loop.
namespace mangrove::portable {

/// What a derivative is computed from.
enum class DerivativeOf { input, output };

/// loop(elements, where they begin in each operand)
using ElementLoop = std::function<void(std::int64_t, std::byte* const*)>;

/// A step over all elements of the output, for operands of its shape; `sizes`: bytes of an element of each operand.
/// Threads share the elements: `loop` gets a range of them.
Step element_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                  std::vector<std::int64_t> sizes, ElementLoop loop);

/// map(elements, x, y), for ranges that threads share; y may lie where x does if both have one type.
template <class X, class Y, class Map>
Step mapping_forward(const KernelRequest& request, Map map) {
  Step step =
      element_step(request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
                   {sizeof(X), sizeof(Y)}, [map](std::int64_t elements, std::byte* const* at) {
                     map(elements, reinterpret_cast<const X*>(at[0]), reinterpret_cast<Y*>(at[1]));
                   });
  if (std::is_same_v<X, Y>) step.in_place = {0, 1};
  return step;
}

/// y[i] = f(x[i])
template <class X, class Y, class F>
Step unary_forward(const KernelRequest& request, F f) {
  return mapping_forward<X, Y>(request, [f](std::int64_t elements, const X* x, Y* y) {
    for (std::int64_t i = 0; i < elements; ++i) y[i] = f(x[i]);
  });
}

/// The kernels of y = f.value(x), whose derivative is f.derivative(x or y), as f.derivative_of() says.
template <class T, class F>
NodeKernels unary_kernels(const KernelRequest& request, F f) {
  NodeKernels kernels;
  kernels.forward.push_back(unary_forward<T, T>(request, [f](T x) { return f.value(x); }));
  if constexpr (requires { f.derivative_of(); }) {
    if (!wants_gradient(request, 0)) return kernels;
    const std::string &x = request.node.inputs[0], &y = request.output_names[0];
    const bool from_input = f.derivative_of() == DerivativeOf::input;
    kernels.backward.push_back(
        element_step(request, "backward", {read_value(from_input ? x : y), read_gradient(y), write_gradient(x)},
                     {sizeof(T), sizeof(T), sizeof(T)}, [f](std::int64_t elements, std::byte* const* buffers) {
                       const T* at = reinterpret_cast<const T*>(buffers[0]);
                       const T* diff_dst = reinterpret_cast<const T*>(buffers[1]);
                       T* diff_src = reinterpret_cast<T*>(buffers[2]);
                       for (std::int64_t i = 0; i < elements; ++i) diff_src[i] = diff_dst[i] * f.derivative(at[i]);
                     }));
    kernels.backward.back().in_place = {1, 2};
  }
  return kernels;
}

/// F<T> made from the request where it has parameters.
template <template <class> class F, class T>
F<T> function_of(const KernelRequest& request) {
  if constexpr (std::is_constructible_v<F<T>, const KernelRequest&>) {
    return F<T>(request);
  } else {
    return F<T>();
  }
}

/// Kernels of F in f32 and f64: the entry of a table of kernels.
template <template <class> class F>
Result<NodeKernels> make_unary(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return unary_kernels<T>(request, function_of<F, T>(request));
  });
}

/// The same in all numeric types.
template <template <class> class F>
Result<NodeKernels> make_numeric_unary(const KernelRequest& request) {
  return for_numeric_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return unary_kernels<T>(request, function_of<F, T>(request));
  });
}

}  // namespace mangrove::portable
