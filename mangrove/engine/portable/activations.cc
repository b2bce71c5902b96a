#include <cmath>

#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

// Each activation y = f(x) and its derivative f'(x), written in y.
struct Relu {
  template <class T>
  static T value(T x) {
    return x < 0 ? T(0) : x;  // keeps NaN
  }
  template <class T>
  static T derivative(T y) {
    return y > 0 ? T(1) : T(0);
  }
};

struct Sigmoid {
  template <class T>
  static T value(T x) {
    return T(1) / (T(1) + std::exp(-x));
  }
  template <class T>
  static T derivative(T y) {
    return y * (T(1) - y);
  }
};

struct Tanh {
  template <class T>
  static T value(T x) {
    return std::tanh(x);
  }
  template <class T>
  static T derivative(T y) {
    return T(1) - y * y;
  }
};

template <class F, class T>
NodeKernels kernels_of(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const std::int64_t elements = request.outputs[0].shape.elements();
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(x), write_value(y)}, [elements](const Buffers& buffers) {
        const T* src = buffers.as<const T>(0);
        T* dst = buffers.as<T>(1);
        for (std::int64_t i = 0; i < elements; ++i) dst[i] = F::value(src[i]);
      }));
  kernels.forward.back().in_place = {0, 1};
  if (!wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(make_step(request, "backward", {read_value(y), read_gradient(y), write_gradient(x)},
                                       [elements](const Buffers& buffers) {
                                         const T* dst = buffers.as<const T>(0);
                                         const T* diff_dst = buffers.as<const T>(1);
                                         T* diff_src = buffers.as<T>(2);
                                         for (std::int64_t i = 0; i < elements; ++i) {
                                           diff_src[i] = diff_dst[i] * F::derivative(dst[i]);
                                         }
                                       }));
  kernels.backward.back().in_place = {1, 2};
  return kernels;
}

Result<NodeKernels> make_activation(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if (request.node.op == "Relu") return kernels_of<Relu, T>(request);
    if (request.node.op == "Sigmoid") return kernels_of<Sigmoid, T>(request);
    MG_CHECK_MSG(request.node.op == "Tanh", request.node.op);
    return kernels_of<Tanh, T>(request);
  });
}

}  // namespace

std::vector<KernelRow> activations() {
  return {{"Relu", make_activation}, {"Sigmoid", make_activation}, {"Tanh", make_activation}};
}

}  // namespace mangrove::portable
