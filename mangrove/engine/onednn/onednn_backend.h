#pragma once

#include <memory>

#include "mangrove/engine/backend.h"

namespace mangrove {

/// Kernels of oneDNN on this machine's CPU, f32 only; every other type or case is left to the portable backend.
/// Values lie in the blocked formats that oneDNN chooses for its convolutions and inner products.
/// threads: the backend may be used by any; each Bound step by one at a time.
std::shared_ptr<const Backend> make_onednn_backend();

/// Whether products of quantized values are computed on bytes: where the processor adds products of bytes in 32 bits
/// (AVX-512 VNNI, AVX-VNNI). Others add pairs of them in 16 bits, which overflow: there products are computed in float.
bool computes_byte_products();

}  // namespace mangrove
