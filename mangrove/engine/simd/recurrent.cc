// GRU, LSTM and RNN: the portable kernels with this backend's product and activations.
#include "mangrove/engine/portable/recurrent.h"

#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/matrix_product.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {

Result<NodeKernels> make_recurrent(const KernelRequest& request) {
  return portable::make_recurrent_of(request, {.multiply = product_on(request.threads),
                                               .sigmoid = micro_kernels().sigmoid,
                                               .tanh = micro_kernels().tanh,
                                               .threads = request.threads});
}

}  // namespace mangrove::simd
