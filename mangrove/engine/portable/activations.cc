#include "mangrove/engine/portable/activations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "mangrove/base/check.h"
#include "mangrove/engine/portable/binary_kernels.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/unary_kernels.h"

namespace mangrove::portable {
namespace {

// Each activation y = f(x) and its derivative, written in x or in y.

struct FromOutput {
  static DerivativeOf derivative_of() { return DerivativeOf::output; }
};
struct FromInput {
  static DerivativeOf derivative_of() { return DerivativeOf::input; }
};

template <class T>
T attribute(const KernelRequest& request, const char* name, double fallback) {
  return static_cast<T>(request.node.float_or(name, static_cast<float>(fallback)));
}

template <class T>
struct Celu : FromInput {
  T alpha;
  explicit Celu(const KernelRequest& request) : alpha(attribute<T>(request, "alpha", 1)) {}
  T value(T x) const { return x < 0 ? alpha * std::expm1(x / alpha) : x; }
  T derivative(T x) const { return x < 0 ? std::exp(x / alpha) : T(1); }
};

template <class T>
struct Clip : FromOutput {
  T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();

  explicit Clip(const KernelRequest& request) {
    if (has_input(request, 1)) lowest = request.constants[1]->as<T>()[0];
    if (has_input(request, 2)) highest = request.constants[2]->as<T>()[0];
  }
  T value(T x) const {
    const T raised = x < lowest ? lowest : x;  // keeps NaN
    return raised > highest ? highest : raised;
  }
  T derivative(T y) const { return static_cast<T>((y > lowest) & (y < highest)); }
};

template <class T>
struct Elu : FromInput {
  T alpha;
  explicit Elu(const KernelRequest& request) : alpha(attribute<T>(request, "alpha", 1)) {}
  T value(T x) const { return x < 0 ? alpha * std::expm1(x) : x; }
  T derivative(T x) const { return x < 0 ? alpha * std::exp(x) : T(1); }
};

template <class T>
struct Erf : FromInput {
  static T value(T x) { return std::erf(x); }
  static T derivative(T x) { return T(2) * std::numbers::inv_sqrtpi_v<T> * std::exp(-x * x); }
};

// x P(x), where P is the normal distribution's.
template <class T>
struct Gelu : FromInput {
  static T value(T x) { return x * distribution(x); }
  static T derivative(T x) {
    const T density = std::exp(-x * x / T(2)) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return distribution(x) + x * density;
  }

 private:
  static T distribution(T x) { return T(0.5) * (T(1) + std::erf(x / std::numbers::sqrt2_v<T>)); }
};

// The same with P(x) near (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
template <class T>
struct GeluByTanh : FromInput {
  static constexpr T kCube = T(0.044715), kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  static T value(T x) { return T(0.5) * x * (T(1) + tanh_at(x)); }
  static T derivative(T x) {
    const T y = tanh_at(x), inner = kScale * (T(1) + T(3) * kCube * x * x);
    return T(0.5) * (T(1) + y + x * (T(1) - y * y) * inner);
  }

 private:
  static T tanh_at(T x) { return std::tanh(kScale * (x + kCube * x * x * x)); }
};

template <class T>
struct HardSigmoid : FromOutput {
  T alpha, beta;
  explicit HardSigmoid(const KernelRequest& request)
      : alpha(attribute<T>(request, "alpha", 0.2)), beta(attribute<T>(request, "beta", 0.5)) {}
  T value(T x) const {
    const T line = alpha * x + beta;
    return line < 0 ? T(0) : line > 1 ? T(1) : line;
  }
  T derivative(T y) const { return y > 0 && y < 1 ? alpha : T(0); }
};

template <class T>
struct HardSwish : FromInput {
  static T value(T x) { return x < -3 ? T(0) : x > 3 ? x : x * (x + T(3)) / T(6); }
  static T derivative(T x) { return x < -3 ? T(0) : x > 3 ? T(1) : (T(2) * x + T(3)) / T(6); }
};

template <class T>
struct LeakyRelu {
  T alpha;
  explicit LeakyRelu(const KernelRequest& request) : alpha(attribute<T>(request, "alpha", 0.01)) {}
  T value(T x) const { return x < 0 ? alpha * x : x; }
  // y has x's sign, unless alpha turns it
  DerivativeOf derivative_of() const { return alpha < 0 ? DerivativeOf::input : DerivativeOf::output; }
  T derivative(T x) const { return x > 0 ? T(1) : alpha; }
};

template <class T>
struct Relu : FromOutput {
  static T value(T x) { return x < 0 ? T(0) : x; }  // keeps NaN
  static T derivative(T y) { return y > 0 ? T(1) : T(0); }
};

template <class T>
struct Selu : FromInput {
  T alpha, gamma;
  explicit Selu(const KernelRequest& request)
      : alpha(attribute<T>(request, "alpha", 1.67326319217681884765625)),
        gamma(attribute<T>(request, "gamma", 1.05070102214813232421875)) {}
  T value(T x) const { return gamma * (x < 0 ? alpha * std::expm1(x) : x); }
  T derivative(T x) const { return gamma * (x < 0 ? alpha * std::exp(x) : T(1)); }
};

template <class T>
struct Sigmoid : FromOutput {
  static T value(T x) { return T(1) / (T(1) + std::exp(-x)); }
  static T derivative(T y) { return y * (T(1) - y); }
};

template <class T>
struct Softplus : FromOutput {
  static T value(T x) { return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : T(0)); }  // does not overflow
  static T derivative(T y) { return -std::expm1(-y); }
};

template <class T>
struct Softsign : FromOutput {
  static T value(T x) { return x / (T(1) + std::abs(x)); }
  static T derivative(T y) { return (T(1) - std::abs(y)) * (T(1) - std::abs(y)); }
};

template <class T>
struct Mish : FromInput {
  static T value(T x) { return x * std::tanh(Softplus<T>::value(x)); }
  static T derivative(T x) {
    const T y = std::tanh(Softplus<T>::value(x));
    return y + x * (T(1) - y * y) * Sigmoid<T>::value(x);
  }
};

template <class T>
struct Shrink : FromInput {
  T bias, lambd;
  explicit Shrink(const KernelRequest& request)
      : bias(attribute<T>(request, "bias", 0)), lambd(attribute<T>(request, "lambd", 0.5)) {}
  T value(T x) const { return x < -lambd ? x + bias : x > lambd ? x - bias : T(0); }
  T derivative(T x) const { return x < -lambd || x > lambd ? T(1) : T(0); }
};

template <class T>
struct ThresholdedRelu : FromInput {
  T alpha;
  explicit ThresholdedRelu(const KernelRequest& request) : alpha(attribute<T>(request, "alpha", 1)) {}
  T value(T x) const { return x > alpha ? x : T(0); }
  T derivative(T x) const { return x > alpha ? T(1) : T(0); }
};

template <class T>
struct Tanh : FromOutput {
  static T value(T x) { return std::tanh(x); }
  static T derivative(T y) { return T(1) - y * y; }
};

// a: the input, b: the slope
struct PRelu {
  static constexpr Reads kForA{true, true}, kForB{true, false};
  template <class T>
  static T value(T a, T b) {
    return a < 0 ? b * a : a;
  }
  template <class T>
  static T to_a(T dy, T a, T b) {
    return a > 0 ? dy : b * dy;
  }
  template <class T>
  static T to_b(T dy, T a, T) {
    return a < 0 ? a * dy : T(0);
  }
};

Result<NodeKernels> make_prelu(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) { return binary_kernels<decltype(zero), PRelu>(request); });
}

Result<NodeKernels> make_gelu(const KernelRequest& request) {
  return request.node.string_or("approximate", "none") == "tanh" ? make_unary<GeluByTanh>(request)
                                                                 : make_unary<Gelu>(request);
}

}  // namespace

std::vector<KernelRow> activations() {
  return {{"Celu", make_unary<Celu>},
          {"Clip", make_numeric_unary<Clip>},
          {"Elu", make_unary<Elu>},
          {"Erf", make_unary<Erf>},
          {"Gelu", make_gelu},
          {"HardSigmoid", make_unary<HardSigmoid>},
          {"HardSwish", make_unary<HardSwish>},
          {"LeakyRelu", make_unary<LeakyRelu>},
          {"Mish", make_unary<Mish>},
          {"PRelu", make_prelu},
          {"Relu", make_unary<Relu>},
          {"Selu", make_unary<Selu>},
          {"Shrink", make_unary<Shrink>},
          {"Sigmoid", make_unary<Sigmoid>},
          {"Softplus", make_unary<Softplus>},
          {"Softsign", make_unary<Softsign>},
          {"Tanh", make_unary<Tanh>},
          {"ThresholdedRelu", make_unary<ThresholdedRelu>}};
}

Result<NodeKernels> make_activation_of(const KernelRequest& request, ActivationFunction forward) {
  const std::vector<KernelRow> rows = activations();
  const auto row = std::ranges::find(rows, request.node.op, &KernelRow::op);
  MG_CHECK_MSG(row != rows.end(), request.node.op);
  MG_TRY(NodeKernels kernels, row->make(request));
  kernels.forward = {mapping_forward<float, float>(request, forward)};
  return kernels;
}

}  // namespace mangrove::portable
