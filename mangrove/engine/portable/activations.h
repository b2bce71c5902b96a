#pragma once

#include <cstdint>

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

/// y[i] = f(x[i]); y may be x.
using Map = void (*)(std::int64_t count, const float* x, float* y);

/// Makes the kernels of an activation of f32 with the forward function that it is given.
Result<NodeKernels> make_activation_of(const KernelRequest& request, Map forward);

}  // namespace mangrove::portable
