#pragma once

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/portable/axis_maps.h"

namespace mangrove::portable {

/// The steps of a node whose input 0 is picked from as `maps` say, of any element type; its gradient is added back.
NodeKernels axis_maps_kernels(const KernelRequest& request, const AxisMaps& maps, double fill);

}  // namespace mangrove::portable
