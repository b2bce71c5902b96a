#pragma once

namespace mangrove {

/// Whether products of quantized values are computed on bytes: where the processor adds products of bytes in 32 bits
/// (AVX-512 VNNI, AVX-VNNI). Others add pairs of them in 16 bits, which overflow: there products are computed in float.
bool computes_byte_products();

}  // namespace mangrove
