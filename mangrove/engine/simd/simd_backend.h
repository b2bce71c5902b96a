#pragma once

#include <memory>

#include "mangrove/engine/backend.h"

namespace mangrove {

/// Kernels for processors without AVX-512, Arm boards first: convolutions and products of floats, forward and backward,
/// on any number of threads, in the vector instructions that the processor has (NEON, SSE4, AVX2). Values lie plain.
std::shared_ptr<const Backend> make_simd_backend();

}  // namespace mangrove
