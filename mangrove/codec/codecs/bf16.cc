#include <algorithm>
#include <bit>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/sixteen_bits.h"

namespace mangrove::codec {
namespace {

/// The upper half of a float32, rounded to nearest, to even between two. What would round to infinity becomes the
/// largest number; infinity and NaN stay.
std::uint16_t to_bf16(std::int32_t bits) {
  constexpr std::int32_t kInfinity = 0x7f800000, kLargest = 0x7f7f;
  const std::int32_t magnitude = bits & 0x7fffffff;
  const std::int32_t below_infinity = std::min(magnitude, kInfinity - 1);  // a NaN's bits would overflow
  const std::int32_t finite = std::min((below_infinity + 0x7fff + (below_infinity >> 16 & 1)) >> 16, kLargest);
  const std::int32_t not_finite = magnitude > kInfinity ? 0x7fc0 : 0x7f80;
  return static_cast<std::uint16_t>((magnitude < kInfinity ? finite : not_finite) | (bits >> 16 & 0x8000));
}

float from_bf16(std::uint16_t upper) {
  return std::bit_cast<float>(std::uint32_t{upper} << 16);
}

}  // namespace

CodecRow rows::bf16() {
  return {.name = "bf16",
          .summary = "bfloat16: 2 bytes each, 8 bits of precision and the range of float32 (Kalamkar et al. 2019)",
          .parameters = {},
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<SixteenBits<to_bf16, from_bf16>>(stream);
          }};
}

}  // namespace mangrove::codec
