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

Result<NodeKernels> make_dropout(const KernelRequest& request) {
  if (request.mode == Mode::training) {
    const bool has_ratio = has_input(request, 1);
    const Tensor* given = has_ratio ? request.constants[1] : nullptr;
    const bool is_zero = given != nullptr && given->elements() == 1 &&
                         ((given->dtype() == DType::f32 && given->as<float>()[0] == 0) ||
                          (given->dtype() == DType::f64 && given->as<double>()[0] == 0));
    if (!is_zero) {
      return make_error(Code::unimplemented, "dropout is trained with ratio 0 only, found " +
                                                 std::string(has_ratio ? "another ratio" : "the default ratio 0.5"));
    }
  }
  return make_copy(request);
}

}  // namespace mangrove::portable
