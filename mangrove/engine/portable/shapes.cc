#include <algorithm>

#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/strided_copy.h"

namespace mangrove::portable {
namespace {

StridedCopy broadcast_copy(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> strides = dense_strides(from.dims());
  StridedCopy copy{to.dims(), std::vector<std::int64_t>(to.rank(), 0), dense_strides(to.dims())};
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (from[i] != 1) copy.from_strides[to.rank() - from.rank() + i] = strides[i];
  }
  return coalesced(copy);
}

Result<NodeKernels> make_expand(const KernelRequest& request) {
  const ValueInfo &input = request.inputs[0], &output = request.outputs[0];
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  NodeKernels kernels;
  const StridedCopy copy = broadcast_copy(input.shape, output.shape);
  kernels.forward.push_back(
      make_step(request, "forward", {read_value(x), write_value(y)},
                [copy, bytes = size_of(input.dtype), threads = request.threads](const Buffers& buffers) {
                  run(copy, bytes, threads, buffers.as<std::byte>(0), buffers.as<std::byte>(1));
                }));
  if (!wants_gradient(request, 0)) return kernels;
  return for_type(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels.backward.push_back(make_step(request, "backward", {read_gradient(y), write_gradient(x)},
                                         [copy, elements = input.shape.elements()](const Buffers& buffers) {
                                           std::fill_n(buffers.as<T>(1), elements, T(0));
                                           add(copy.reversed(), buffers.as<const T>(0), buffers.as<T>(1));
                                         }));
    return kernels;
  });
}

}  // namespace

std::vector<KernelRow> shapes() {
  return {{"Expand", make_expand},
          {"Flatten", make_copy},
          {"Reshape", make_copy},
          {"Squeeze", make_copy},
          {"Unsqueeze", make_copy}};
}

}  // namespace mangrove::portable
