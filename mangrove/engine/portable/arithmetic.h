#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_pow(const KernelRequest& request);
Result<NodeKernels> make_sum(const KernelRequest& request);      // Sum, Mean
Result<NodeKernels> make_extreme(const KernelRequest& request);  // Max, Min

/// op(a, b), where integers that overflow wrap around (in C++ that is undefined).
template <class T, class Op>
T wrapping(T a, T b, Op op) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(op(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return op(a, b);
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

}  // namespace mangrove::portable
