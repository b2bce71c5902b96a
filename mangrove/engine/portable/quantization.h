#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {

Result<NodeKernels> make_quantize(const KernelRequest& request);
Result<NodeKernels> make_dequantize(const KernelRequest& request);
Result<NodeKernels> make_dynamic_quantize(const KernelRequest& request);
Result<NodeKernels> make_integer_conv(const KernelRequest& request);    // ConvInteger, QLinearConv
Result<NodeKernels> make_integer_matmul(const KernelRequest& request);  // MatMulInteger, QLinearMatMul

/// saturate(round(x) + zero point), halves to even. NaN becomes the lowest value.
template <class T>
T quantized(float x, T zero_point) {
  const float shifted = std::nearbyint(x) + static_cast<float>(zero_point);
  constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min()),
                 kHigh = static_cast<float>(std::numeric_limits<T>::max());
  return static_cast<T>(std::max(kLow, std::min(shifted, kHigh)));  // the order decides what becomes of NaN
}

/// A scale or zero point: one for all channels, or one each.
template <class T>
struct PerChannel {
  const T* values = nullptr;  // null: zero for all
  std::int64_t count = 0;

  T operator[](std::int64_t channel) const { return values == nullptr ? T(0) : values[count == 1 ? 0 : channel]; }
};

/// make(X(), W()) for two byte types.
template <class Make>
Result<NodeKernels> for_byte_types(DType x, DType w, Make make) {
  return for_one_of<std::uint8_t, std::int8_t>(x, [&](auto of_x) {
    return for_one_of<std::uint8_t, std::int8_t>(w, [&](auto of_w) { return make(of_x, of_w); });
  });
}

}  // namespace mangrove::portable
