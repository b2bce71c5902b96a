#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_cast(const KernelRequest& request);
Result<NodeKernels> make_where(const KernelRequest& request);

}  // namespace mangrove::portable
