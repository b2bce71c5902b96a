#pragma once

#include "mangrove/engine/kernel.h"

/// The kernels of every operator of the operator table, one file per family; portable_backend.cc lists them.
/// errors: unimplemented, with the reason.
namespace mangrove::portable {

Result<NodeKernels> make_activation(const KernelRequest& request);  // Relu, Sigmoid, Tanh
Result<NodeKernels> make_add(const KernelRequest& request);
Result<NodeKernels> make_average_pool(const KernelRequest& request);  // AveragePool, GlobalAveragePool
Result<NodeKernels> make_conv(const KernelRequest& request);
Result<NodeKernels> make_copy(const KernelRequest& request);  // Flatten, Identity, Reshape
Result<NodeKernels> make_dropout(const KernelRequest& request);
Result<NodeKernels> make_gemm(const KernelRequest& request);  // Gemm, MatMul
Result<NodeKernels> make_max_pool(const KernelRequest& request);
Result<NodeKernels> make_softmax(const KernelRequest& request);

}  // namespace mangrove::portable
