#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

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

}  // namespace

std::vector<KernelRow> regularization() {
  return {{"Dropout", make_dropout}, {"Identity", make_copy}};
}

}  // namespace mangrove::portable
