#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

Result<NodeKernels> make_batch_norm(const KernelRequest& request);
Result<NodeKernels> make_lrn(const KernelRequest& request);
Result<NodeKernels> make_row_norm(const KernelRequest& request);  // Layer-, Instance-, GroupNormalization

}  // namespace mangrove::portable
