// Gemm and MatMul: the portable kernels with this backend's product.
#include "mangrove/engine/portable/products.h"

#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/matrix_product.h"

namespace mangrove::simd {

Result<NodeKernels> make_gemm(const KernelRequest& request) {
  return portable::make_gemm_of(request, product_on(request.threads));
}

Result<NodeKernels> make_matmul(const KernelRequest& request) {
  return portable::make_matmul_of(request, product_on(request.threads));
}

}  // namespace mangrove::simd
