// Gemm, MatMul, GRU, LSTM and RNN: the portable kernels with this backend's product.
#include "mangrove/engine/portable/products.h"

#include "mangrove/engine/portable/recurrent.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/matrix_product.h"
#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {
namespace {

portable::Product<float> product_on(int threads) {
  return [threads](std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const portable::Matrix<float>& a,
                   const portable::Matrix<float>& b, float* y,
                   std::int64_t y_stride) { multiply_add(threads, m, n, k, alpha, a, b, y, y_stride); };
}

}  // namespace

Result<NodeKernels> make_gemm(const KernelRequest& request) {
  return portable::make_gemm_of(request, product_on(request.threads));
}

Result<NodeKernels> make_matmul(const KernelRequest& request) {
  return portable::make_matmul_of(request, product_on(request.threads));
}

Result<NodeKernels> make_recurrent(const KernelRequest& request) {
  return portable::make_recurrent_of(request, {.multiply = product_on(request.threads),
                                               .sigmoid = micro_kernels().sigmoid,
                                               .tanh = micro_kernels().tanh,
                                               .threads = request.threads});
}

}  // namespace mangrove::simd
