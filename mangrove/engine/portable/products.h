#pragma once

#include <functional>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/portable/matrix.h"

namespace mangrove::portable {

/// Computes y[m, n] += alpha a[m, k] b[k, n]; the rows of y are y_stride apart.
template <class T>
using Product = std::function<void(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& a,
                                   const Matrix<T>& b, T* y, std::int64_t y_stride)>;

template <class T>
void blocked_product(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const Matrix<T>& a, const Matrix<T>& b,
                     T* y, std::int64_t y_stride) {
  multiply_add(m, n, k, alpha, a, b, y, y_stride);
}

Result<NodeKernels> make_einsum(const KernelRequest& request);
Result<NodeKernels> make_gemm(const KernelRequest& request);
Result<NodeKernels> make_matmul(const KernelRequest& request);

// These make the same kernels for f32 alone, with the product that they are given.
Result<NodeKernels> make_gemm_of(const KernelRequest& request, const Product<float>& multiply);
Result<NodeKernels> make_matmul_of(const KernelRequest& request, const Product<float>& multiply);

}  // namespace mangrove::portable
