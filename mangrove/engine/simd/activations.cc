// Sigmoid and Tanh: the portable kernels with Highway's exponential and tanh.
#include "mangrove/engine/portable/activations.h"

#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {

Result<NodeKernels> make_sigmoid(const KernelRequest& request) {
  return portable::make_activation_of(request, micro_kernels().sigmoid);
}

Result<NodeKernels> make_tanh(const KernelRequest& request) {
  return portable::make_activation_of(request, micro_kernels().tanh);
}

}  // namespace mangrove::simd
