#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/binary_kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/reductions.h"

// Reductions y = finish(start + f(x_1) + f(x_2) + ...), or with a product in place of the sum.
namespace mangrove::portable {
namespace {

// y[j] = start, then add(y[j], x[i]) for each x[i] that is reduced to y[j].
template <class T, class Add>
void fold_rows(const BroadcastRows& rows, int threads, const T* x, std::int64_t outputs, T start, T* y, Add add) {
  std::fill_n(y, outputs, start);
  rows.for_each_part_adding_to(0, threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
    T* result = y + to[0];
    if (rows.stride() == 0) {
      Sum<T> sum = *result;
      for (std::int64_t i = 0; i < count; ++i) sum = add(sum, static_cast<Sum<T>>(x[at + i]));
      *result = static_cast<T>(sum);
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        result[i] = static_cast<T>(add(static_cast<Sum<T>>(result[i]), static_cast<Sum<T>>(x[at + i])));
    }
  });
}

// Each function: how an element is added, what becomes of the sum, and d y / d x from what kForX names: x, y.

struct SumOfMagnitudes {
  static constexpr Reads kForX{.a = true};
  template <class S>
  static S add(S sum, S x) {
    return wrapping(sum, x < 0 ? wrapping(S(0), x, std::minus<>()) : x, std::plus<>());
  }
  template <class T>
  static T finish(T sum) {
    return sum;
  }
  template <class T>
  static T slope(T x, T) {
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};

struct SumOfSquares {
  static constexpr Reads kForX{.a = true};
  template <class S>
  static S add(S sum, S x) {
    return wrapping(sum, wrapping(x, x, std::multiplies<>()), std::plus<>());
  }
  template <class T>
  static T finish(T sum) {
    return sum;
  }
  template <class T>
  static T slope(T x, T) {
    return T(2) * x;
  }
};

struct RootOfSquares : SumOfSquares {
  static constexpr Reads kForX{.a = true, .b = true};
  template <class T>
  static T finish(T sum) {
    return std::sqrt(sum);
  }
  template <class T>
  static T slope(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};

struct LogOfSum {
  static constexpr Reads kForX{.b = true};
  template <class S>
  static S add(S sum, S x) {
    return sum + x;
  }
  template <class T>
  static T finish(T sum) {
    return std::log(sum);
  }
  template <class T>
  static T slope(T, T y) {
    return std::exp(-y);
  }
};

template <class T, class F>
NodeKernels function_kernels(const KernelRequest& request) {
  const std::int64_t outputs = request.outputs[0].shape.elements();
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
                [outputs, rows = reduction_rows(request), threads = request.threads](const Buffers& buffers) {
                  T* y = buffers.as<T>(1);
                  fold_rows(rows, threads, buffers.as<const T>(0), outputs, T(0), y,
                            [](auto sum, auto x) { return F::add(sum, x); });
                  for (std::int64_t j = 0; j < outputs; ++j) y[j] = F::finish(y[j]);
                }));
  return kernels;
}

// dx[i] = dy[j] slope(x[i], y[j], j), where x[i] is reduced to y[j]; what `reads` does not name is 0. A workspace of
// `bytes` is made ready before.
template <class T, class Prepare, class Slope>
Step function_gradient(const KernelRequest& request, Reads reads, Bytes bytes, Prepare prepare, Slope slope) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  OperandList operands;
  operands.add(read_gradient(y));
  operands.add(write_gradient(x));
  const std::size_t at_x = operands.add_if(reads.a, [&] { return read_value(x); });
  const std::size_t at_y = operands.add_if(reads.b, [&] { return read_value(y); });
  return make_step_with_workspace(
      request, "backward", operands.take(), bytes,
      [=, rows = reduction_rows(request), threads = request.threads](const Buffers& buffers, std::byte* workspace) {
        const T *from = buffers.as<const T>(at_x), *results = buffers.as<const T>(at_y);
        prepare(rows, threads, from, workspace);
        rows.for_each_part(threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t j = to[0] + i * rows.stride();
            const T one_x = from == nullptr ? T(0) : from[at + i], one_y = results == nullptr ? T(0) : results[j];
            buffers.as<T>(1)[at + i] = buffers.as<const T>(0)[j] * slope(one_x, one_y, j, workspace);
          }
        });
      });
}

constexpr auto kPrepareNothing = [](const auto&...) {};

template <class F, class... Types>
Result<NodeKernels> make_function(const KernelRequest& request) {
  return for_one_of<Types...>(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels = function_kernels<T, F>(request);
    if constexpr (std::is_floating_point_v<T>) {
      if (!wants_gradient(request, 0)) return kernels;
      kernels.backward.push_back(
          function_gradient<T>(request, F::kForX, 0, kPrepareNothing,
                               [](T x, T y, std::int64_t, const std::byte*) { return F::slope(x, y); }));
    }
    return kernels;
  });
}

// y = m + log sum exp(x - m), where m is the largest x, so that nothing overflows.
template <class T>
Step log_sum_exp_forward(const KernelRequest& request) {
  const std::int64_t outputs = request.outputs[0].shape.elements();
  return make_step_with_workspace(
      request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
      outputs * static_cast<Bytes>(sizeof(T)),
      [outputs, rows = reduction_rows(request), threads = request.threads](const Buffers& buffers, std::byte* space) {
        const T* x = buffers.as<const T>(0);
        T* y = buffers.as<T>(1);
        T* highest = reinterpret_cast<T*>(space);
        fold_rows(rows, threads, x, outputs, -std::numeric_limits<T>::infinity(), highest,
                  [](auto most, auto next) { return std::max(most, next); });
        std::transform(highest, highest + outputs, highest, [](T m) { return std::isfinite(m) ? m : T(0); });
        std::fill_n(y, outputs, T(0));
        rows.for_each_part_adding_to(0, threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t j = to[0] + i * rows.stride();
            y[j] += std::exp(x[at + i] - highest[j]);
          }
        });
        for (std::int64_t j = 0; j < outputs; ++j) y[j] = highest[j] + std::log(y[j]);
      });
}

Result<NodeKernels> make_log_sum_exp(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(log_sum_exp_forward<T>(request));
    if (!wants_gradient(request, 0)) return kernels;
    kernels.backward.push_back(
        function_gradient<T>(request, {.a = true, .b = true}, 0, kPrepareNothing,
                             [](T x, T y, std::int64_t, const std::byte*) { return std::exp(x - y); }));
    return kernels;
  });
}

// Of one result of ReduceProd: the zeros among its factors, and the product of the others.
struct Factors {
  std::int64_t zeros = 0;
  double product = 1;

  void multiply(double x) {
    if (x == 0) {
      ++zeros;
    } else {
      product *= x;
    }
  }
  /// The product without one of the factors.
  double without(double x) const {
    if (x == 0) return zeros == 1 ? product : 0;
    return zeros == 0 ? product / x : 0;
  }
};

template <class T>
Step product_gradient(const KernelRequest& request) {
  const std::int64_t outputs = request.outputs[0].shape.elements();
  const auto count_factors = [outputs](const BroadcastRows& rows, int threads, const T* x, std::byte* workspace) {
    auto* factors = reinterpret_cast<Factors*>(workspace);
    std::uninitialized_fill_n(factors, outputs, Factors());
    rows.for_each_part_adding_to(0, threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        Factors& of = factors[to[0] + i * rows.stride()];
        of.multiply(static_cast<double>(x[at + i]));
      }
    });
  };
  return function_gradient<T>(request, {.a = true}, outputs * static_cast<Bytes>(sizeof(Factors)), count_factors,
                              [](T x, T, std::int64_t j, const std::byte* workspace) {
                                return static_cast<T>(reinterpret_cast<const Factors*>(workspace)[j].without(x));
                              });
}

Result<NodeKernels> make_product(const KernelRequest& request) {
  return for_one_of<float, double, std::int32_t, std::int64_t>(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t outputs = request.outputs[0].shape.elements();
    NodeKernels kernels;
    kernels.forward.push_back(
        make_step(request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
                  [outputs, rows = reduction_rows(request), threads = request.threads](const Buffers& buffers) {
                    fold_rows(rows, threads, buffers.as<const T>(0), outputs, T(1), buffers.as<T>(1),
                              [](auto product, auto x) { return wrapping(product, x, std::multiplies<>()); });
                  }));
    if constexpr (std::is_floating_point_v<T>) {
      if (wants_gradient(request, 0)) kernels.backward.push_back(product_gradient<T>(request));
    }
    return kernels;
  });
}

}  // namespace

Result<NodeKernels> make_reduce_function(const KernelRequest& request) {
  const std::string& op = request.node.op;
  if (op == "ReduceL1") return make_function<SumOfMagnitudes, float, double, std::int32_t, std::int64_t>(request);
  if (op == "ReduceSumSquare") return make_function<SumOfSquares, float, double, std::int32_t, std::int64_t>(request);
  if (op == "ReduceProd") return make_product(request);
  if (op == "ReduceLogSumExp") return make_log_sum_exp(request);
  return op == "ReduceL2" ? make_function<RootOfSquares, float, double>(request)
                          : make_function<LogOfSum, float, double>(request);
}

}  // namespace mangrove::portable
