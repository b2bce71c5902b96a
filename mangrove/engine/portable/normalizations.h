#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_batch_norm(const KernelRequest& request);

}  // namespace mangrove::portable
