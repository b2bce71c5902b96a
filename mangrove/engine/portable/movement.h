#pragma once

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/portable/strided_copy.h"

/// The kernels of the family "movement", one file for each kind of movement.
namespace mangrove::portable {

Result<NodeKernels> make_concat(const KernelRequest& request);
Result<NodeKernels> make_split(const KernelRequest& request);
Result<NodeKernels> make_transpose(const KernelRequest& request);
Result<NodeKernels> make_blocks(const KernelRequest& request);  // DepthToSpace, SpaceToDepth
Result<NodeKernels> make_slice(const KernelRequest& request);
Result<NodeKernels> make_pad(const KernelRequest& request);
Result<NodeKernels> make_gather(const KernelRequest& request);
Result<NodeKernels> make_grid_sample(const KernelRequest& request);
Result<NodeKernels> make_tile(const KernelRequest& request);
Result<NodeKernels> make_trilu(const KernelRequest& request);
Result<NodeKernels> make_resize(const KernelRequest& request);

}  // namespace mangrove::portable
