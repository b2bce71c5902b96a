#include "mangrove/engine/portable/logic.h"

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

}  // namespace

std::vector<KernelRow> logic() {
  return {{"And", make_comparison<std::logical_and<>>}, {"Cast", make_cast},
          {"Equal", make_comparison<std::equal_to<>>},  {"Greater", make_comparison<std::greater<>>},
          {"Less", make_comparison<std::less<>>},       {"Not", make_not},
          {"Or", make_comparison<std::logical_or<>>},   {"Where", make_where}};
}

}  // namespace mangrove::portable
