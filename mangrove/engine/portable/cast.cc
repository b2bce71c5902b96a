#include <cmath>
#include <limits>

#include "mangrove/engine/portable/logic.h"
#include "mangrove/engine/portable/unary_kernels.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/tensor/sixteen_bits.h"

namespace mangrove::portable {
namespace {

constexpr std::int64_t kFloat16 = onnx::TensorProto::FLOAT16;

template <class To, class From>
To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // outside of the range C++ leaves it undefined; the bounds are powers of 2 (or one less), so exact or rounded up
    constexpr To kLowest = std::numeric_limits<To>::min(), kHighest = std::numeric_limits<To>::max();
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(kLowest)) return kLowest;
    return x >= static_cast<From>(kHighest) ? kHighest : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
Step cast_forward(const KernelRequest& request) {
  if constexpr (std::is_same_v<To, float>) {
    const std::int64_t to = request.node.int_or("to", 0);
    if (is_sixteen_bit_float(to)) {
      const auto round = to == kFloat16 ? rounded_to_float16 : rounded_to_bfloat16;
      return unary_forward<From, float>(request, [round](From x) { return round(cast<float>(x)); });
    }
  }
  return unary_forward<From, To>(request, cast<To, From>);
}

template <class From, class To>
NodeKernels cast_kernels(const KernelRequest& request) {
  NodeKernels kernels;
  kernels.forward.push_back(cast_forward<From, To>(request));
  if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    if (!wants_gradient(request, 0)) return kernels;
    const std::int64_t elements = request.outputs[0].shape.elements();
    kernels.backward.push_back(
        make_step(request, "backward", {read_gradient(request.output_names[0]), write_gradient(request.node.inputs[0])},
                  [elements](const Buffers& buffers) {
                    const To* diff_dst = buffers.as<const To>(0);
                    From* diff_src = buffers.as<From>(1);
                    for (std::int64_t i = 0; i < elements; ++i) diff_src[i] = static_cast<From>(diff_dst[i]);
                  }));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_cast(const KernelRequest& request) {
  return for_any_type(request.inputs[0].dtype, [&](auto from) {
    return for_any_type(request.outputs[0].dtype,
                        [&](auto to) { return cast_kernels<decltype(from), decltype(to)>(request); });
  });
}

}  // namespace mangrove::portable
