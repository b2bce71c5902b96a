#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::simd {

/// Conv and ConvTranspose of floats.
Result<NodeKernels> make_convolution(const KernelRequest& request);
/// Whether the request's epilogue is one that is computed with it: in inference, a residual Add and then a Relu or
/// Clip, each of which may be missing.
bool convolution_fuses(const KernelRequest& request);

}  // namespace mangrove::simd
