#include <cstring>

#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

// Operand 0 to operand 1; nothing to do where the plan put both into the same memory.
Step copy_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands) {
  const ValueInfo& info = request.outputs[0];
  const std::size_t bytes = static_cast<std::size_t>(info.shape.elements()) * size_of(info.dtype);
  Step step = make_step(request, what, std::move(operands), [bytes](const Buffers& buffers) {
    if (buffers.as<std::byte>(0) != buffers.as<std::byte>(1)) {
      std::memcpy(buffers.as<std::byte>(1), buffers.as<std::byte>(0), bytes);
    }
  });
  step.is_view = true;
  step.in_place = {0, 1};
  return step;
}

}  // namespace

Result<NodeKernels> make_copy(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  NodeKernels kernels;
  kernels.forward.push_back(copy_step(request, "forward", {read_value(x), write_value(y)}));
  if (wants_gradient(request, 0)) {
    kernels.backward.push_back(copy_step(request, "backward", {read_gradient(y), write_gradient(x)}));
  }
  return kernels;
}

}  // namespace mangrove::portable
