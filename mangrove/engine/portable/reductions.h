#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_reduce_sum(const KernelRequest& request);      // ReduceSum, ReduceMean
Result<NodeKernels> make_reduce_extreme(const KernelRequest& request);  // ReduceMax, ReduceMin
Result<NodeKernels> make_arg_max(const KernelRequest& request);
Result<NodeKernels> make_top_k(const KernelRequest& request);

}  // namespace mangrove::portable
