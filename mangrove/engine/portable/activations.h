#pragma once

#include <cstdint>

#include "mangrove/engine/kernel.h"

namespace mangrove::portable {

/// Computes y[i] = f(x[i]) for `count` elements; y may be x.
using ActivationFunction = void (*)(std::int64_t count, const float* x, float* y);

/// Makes the kernels of an activation of f32 with the forward function that it is given. errors: those of the portable
/// kernels.
Result<NodeKernels> make_activation_of(const KernelRequest& request, ActivationFunction forward);

}  // namespace mangrove::portable
