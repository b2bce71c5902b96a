#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_average_pool(const KernelRequest& request);  // AveragePool, GlobalAveragePool
Result<NodeKernels> make_max_pool(const KernelRequest& request);      // MaxPool, GlobalMaxPool

}  // namespace mangrove::portable
