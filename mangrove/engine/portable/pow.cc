#include <cmath>
#include <functional>

#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/binary_kernels.h"

namespace mangrove::portable {
namespace {

// a^b by repeated squaring; a negative exponent gives the integer part of the reciprocal (0 for 0).
template <class T>
T integer_power(T a, std::int64_t b) {
  if (b < 0) return a == 1 ? T(1) : a == -1 ? (b % 2 == 0 ? T(1) : T(-1)) : T(0);
  T power = 1;
  for (; b > 0; b /= 2, a = wrapping(a, a, std::multiplies<>())) {
    if (b % 2 != 0) power = wrapping(power, a, std::multiplies<>());
  }
  return power;
}

template <class A, class B>
A power(A a, B b) {
  if constexpr (std::is_floating_point_v<A>) {
    return b == 2 ? a * a : static_cast<A>(std::pow(a, static_cast<A>(b)));
  } else if constexpr (std::is_integral_v<B>) {
    return integer_power(a, b);
  } else {
    // what does not fit into an integer has no defined result: the end of its range
    const double exact = std::pow(static_cast<double>(a), static_cast<double>(b));
    constexpr auto kLowest = std::numeric_limits<A>::min(), kHighest = std::numeric_limits<A>::max();
    if (!(exact > static_cast<double>(kLowest))) return kLowest;
    return exact < static_cast<double>(kHighest) ? static_cast<A>(exact) : kHighest;
  }
}

// d a^b / da = b a^(b-1)
template <class A, class B>
A slope_of_base(A dy, A a, B b) {
  return b == 0 ? A(0) : dy * static_cast<A>(b) * power(a, b - B(1));
}

// d a^b / db = log(a) a^b; 0 where a is not positive, since there it is defined for single exponents only
template <class T>
T slope_of_exponent(T dy, T a, T b) {
  return a > 0 ? dy * std::log(a) * power(a, b) : T(0);
}

template <class A, class B>
NodeKernels pow_kernels(const KernelRequest& request) {
  NodeKernels kernels;
  kernels.forward.push_back(binary_forward<A, B, A>(request, power<A, B>));
  if constexpr (std::is_floating_point_v<A>) {
    if (wants_gradient(request, 0)) {
      kernels.backward.push_back(binary_gradient<A, B>(request, 0, {true, true}, slope_of_base<A, B>));
    }
  }
  if constexpr (std::is_floating_point_v<A> && std::is_floating_point_v<B>) {
    if (wants_gradient(request, 1)) {
      kernels.backward.push_back(binary_gradient<A, B>(request, 1, {true, true}, [](A dy, A a, B b) {
        return static_cast<B>(slope_of_exponent(dy, a, static_cast<A>(b)));
      }));
    }
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_pow(const KernelRequest& request) {
  return for_one_of<float, double, std::int32_t, std::int64_t>(request.inputs[0].dtype, [&](auto a) {
    return for_one_of<float, double, std::int32_t, std::int64_t>(
        request.inputs[1].dtype, [&](auto b) { return pow_kernels<decltype(a), decltype(b)>(request); });
  });
}

}  // namespace mangrove::portable
