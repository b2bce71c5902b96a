#include "mangrove/engine/portable/arithmetic.h"

#include <cmath>
#include <functional>

#include "mangrove/engine/portable/binary_kernels.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/unary_kernels.h"

namespace mangrove::portable {
namespace {

// Functions of one value, and their derivatives in x or y.

template <class T>
struct Abs {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return x < 0 ? wrapping(T(0), x, std::minus<>()) : x; }
  static T derivative(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : T(0); }
};

template <class T>
struct Ceil {
  static T value(T x) { return std::ceil(x); }
};

template <class T>
struct Exp {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
  static T value(T x) { return std::exp(x); }
  static T derivative(T y) { return y; }
};

template <class T>
struct Floor {
  static T value(T x) { return std::floor(x); }
};

template <class T>
struct Log {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::log(x); }
  static T derivative(T x) { return T(1) / x; }
};

template <class T>
struct Neg {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
  static T value(T x) { return wrapping(T(0), x, std::minus<>()); }
  static T derivative(T) { return T(-1); }
};

template <class T>
struct Reciprocal {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
  static T value(T x) { return T(1) / x; }
  static T derivative(T y) { return -y * y; }
};

template <class T>
struct Sqrt {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
  static T value(T x) { return std::sqrt(x); }
  static T derivative(T y) { return T(0.5) / y; }
};

template <class T>
struct Round {
  static T value(T x) { return std::nearbyint(x); }  // halves to the even neighbour, which is the default of C++
};

template <class T>
struct Sign {
  static T value(T x) { return static_cast<T>((x > T(0)) - (x < T(0))); }
};

// Functions of angles and of hyperbolas, and their inverses.

template <class T>
struct Acos {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::acos(x); }
  static T derivative(T x) { return T(-1) / std::sqrt(T(1) - x * x); }
};

template <class T>
struct Acosh {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::acosh(x); }
  static T derivative(T x) { return T(1) / std::sqrt(x * x - T(1)); }
};

template <class T>
struct Asin {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::asin(x); }
  static T derivative(T x) { return T(1) / std::sqrt(T(1) - x * x); }
};

template <class T>
struct Asinh {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::asinh(x); }
  static T derivative(T x) { return T(1) / std::sqrt(x * x + T(1)); }
};

template <class T>
struct Atan {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::atan(x); }
  static T derivative(T x) { return T(1) / (T(1) + x * x); }
};

template <class T>
struct Atanh {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::atanh(x); }
  static T derivative(T x) { return T(1) / (T(1) - x * x); }
};

template <class T>
struct Cos {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::cos(x); }
  static T derivative(T x) { return -std::sin(x); }
};

template <class T>
struct Cosh {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::cosh(x); }
  static T derivative(T x) { return std::sinh(x); }
};

template <class T>
struct Sin {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::sin(x); }
  static T derivative(T x) { return std::cos(x); }
};

template <class T>
struct Sinh {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
  static T value(T x) { return std::sinh(x); }
  static T derivative(T x) { return std::cosh(x); }
};

template <class T>
struct Tan {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
  static T value(T x) { return std::tan(x); }
  static T derivative(T y) { return T(1) + y * y; }
};

// Functions of two.

struct Add {
  static constexpr Reads kForA{}, kForB{};
  template <class T>
  static T value(T a, T b) {
    return wrapping(a, b, std::plus<>());
  }
  template <class T>
  static T to_a(T dy, T, T) {
    return dy;
  }
  template <class T>
  static T to_b(T dy, T, T) {
    return dy;
  }
};

struct Sub {
  static constexpr Reads kForA{}, kForB{};
  template <class T>
  static T value(T a, T b) {
    return wrapping(a, b, std::minus<>());
  }
  template <class T>
  static T to_a(T dy, T, T) {
    return dy;
  }
  template <class T>
  static T to_b(T dy, T, T) {
    return -dy;
  }
};

struct Mul {
  static constexpr Reads kForA{.b = true}, kForB{.a = true};
  template <class T>
  static T value(T a, T b) {
    return wrapping(a, b, std::multiplies<>());
  }
  template <class T>
  static T to_a(T dy, T, T b) {
    return dy * b;
  }
  template <class T>
  static T to_b(T dy, T a, T) {
    return dy * a;
  }
};

struct Div {
  static constexpr Reads kForA{.b = true}, kForB{.a = true, .b = true};
  template <class T>
  static T value(T a, T b) {
    if constexpr (std::is_integral_v<T>) {  // what the processor traps on: x / 0, and the least number / -1
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapping(T(0), a, std::minus<>());
    }
    return static_cast<T>(a / b);
  }
  template <class T>
  static T to_a(T dy, T, T b) {
    return dy / b;
  }
  template <class T>
  static T to_b(T dy, T a, T b) {
    return -dy * a / (b * b);
  }
};

// The sign of what is left is that of b, or with kAsC that of a. Integers have 0 for b = 0.
template <bool kAsC>
struct Mod {
  static constexpr Reads kForA{}, kForB{true, true};
  template <class T>
  static T value(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;  // what the processor traps on
      const T left = static_cast<T>(a % b);
      return !kAsC && left != 0 && (left < 0) != (b < 0) ? static_cast<T>(left + b) : left;
    }
  }
  template <class T>
  static T to_a(T dy, T, T) {
    return dy;
  }
  template <class T>
  static T to_b(T dy, T a, T b) {
    return -dy * std::trunc(a / b);
  }
};

template <class F>
Result<NodeKernels> make_binary(const KernelRequest& request) {
  return for_numeric_type(request.outputs[0].dtype,
                          [&](auto zero) { return binary_kernels<decltype(zero), F>(request); });
}

Result<NodeKernels> make_mod(const KernelRequest& request) {
  return request.node.int_or("fmod", 0) != 0 ? make_binary<Mod<true>>(request) : make_binary<Mod<false>>(request);
}

}  // namespace

std::vector<KernelRow> arithmetic() {
  return {{"Abs", make_numeric_unary<Abs>},
          {"Acos", make_unary<Acos>},
          {"Acosh", make_unary<Acosh>},
          {"Add", make_binary<Add>},
          {"Asin", make_unary<Asin>},
          {"Asinh", make_unary<Asinh>},
          {"Atan", make_unary<Atan>},
          {"Atanh", make_unary<Atanh>},
          {"Ceil", make_unary<Ceil>},
          {"Cos", make_unary<Cos>},
          {"Cosh", make_unary<Cosh>},
          {"Div", make_binary<Div>},
          {"Exp", make_unary<Exp>},
          {"Floor", make_unary<Floor>},
          {"Log", make_unary<Log>},
          {"Max", make_extreme},
          {"Mean", make_sum},
          {"Min", make_extreme},
          {"Mod", make_mod},
          {"Mul", make_binary<Mul>},
          {"Neg", make_numeric_unary<Neg>},
          {"Pow", make_pow},
          {"Reciprocal", make_unary<Reciprocal>},
          {"Round", make_unary<Round>},
          {"Sign", make_numeric_unary<Sign>},
          {"Sin", make_unary<Sin>},
          {"Sinh", make_unary<Sinh>},
          {"Sqrt", make_unary<Sqrt>},
          {"Sub", make_binary<Sub>},
          {"Sum", make_sum},
          {"Tan", make_unary<Tan>}};
}

}  // namespace mangrove::portable
