#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_gemm(const KernelRequest& request);
Result<NodeKernels> make_matmul(const KernelRequest& request);

}  // namespace mangrove::portable
