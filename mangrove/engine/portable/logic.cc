#include "mangrove/engine/portable/logic.h"

#include <cmath>
#include <functional>

#include "mangrove/engine/portable/binary_kernels.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/unary_kernels.h"

namespace mangrove::portable {
namespace {

template <class Compare>
Result<NodeKernels> make_comparison(const KernelRequest& request) {
  return for_any_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(binary_forward<T, T, bool>(request, [](T a, T b) { return Compare()(a, b); }));
    return kernels;
  });
}

Result<NodeKernels> make_not(const KernelRequest& request) {
  NodeKernels kernels;
  kernels.forward.push_back(unary_forward<bool, bool>(request, std::logical_not<bool>()));
  return kernels;
}

// `test(x)` for each real x.
template <class Test>
Result<NodeKernels> real_test_kernels(const KernelRequest& request, Test test) {
  return for_type(request.inputs[0].dtype, [&](auto zero) {
    NodeKernels kernels;
    kernels.forward.push_back(unary_forward<decltype(zero), bool>(request, test));
    return kernels;
  });
}

Result<NodeKernels> make_is_nan(const KernelRequest& request) {
  return real_test_kernels(request, [](auto x) { return std::isnan(x); });
}

Result<NodeKernels> make_is_infinite(const KernelRequest& request) {
  const bool negative = request.node.int_or("detect_negative", 1) != 0;
  const bool positive = request.node.int_or("detect_positive", 1) != 0;
  return real_test_kernels(request,
                           [negative, positive](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

}  // namespace

std::vector<KernelRow> logic() {
  return {{"And", make_comparison<std::logical_and<>>},
          {"Cast", make_cast},
          {"Equal", make_comparison<std::equal_to<>>},
          {"Greater", make_comparison<std::greater<>>},
          {"GreaterOrEqual", make_comparison<std::greater_equal<>>},
          {"IsInf", make_is_infinite},
          {"IsNaN", make_is_nan},
          {"Less", make_comparison<std::less<>>},
          {"LessOrEqual", make_comparison<std::less_equal<>>},
          {"Not", make_not},
          {"Or", make_comparison<std::logical_or<>>},
          {"Where", make_where},
          {"Xor", make_comparison<std::not_equal_to<>>}};
}

}  // namespace mangrove::portable
