#include <algorithm>
#include <bit>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/sixteen_bits.h"

namespace mangrove::codec {
namespace {

constexpr std::int32_t kInfinity = 0x7f800000;    // of float32, as bits
constexpr std::int32_t kLeastNormal = 113 << 23;  // 2^-14, that of float16
constexpr std::int32_t kHalf = 126 << 23;         // 0.5
constexpr std::int32_t kBiases = 112 << 23;       // of the exponents, the difference

/// A conditional that the compiler makes no branch of, as it would to spare a float operation.
std::int32_t select(bool condition, std::int32_t yes, std::int32_t no) {
  const std::int32_t mask = -static_cast<std::int32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// Rounds to nearest, to even between two. What is too large becomes the largest, 65504: a gradient that overflows in
/// one element stays usable. Infinity and NaN stay.
/// source: Giesen, Half to float done quick (float_to_half_fast3_rtne), 2016.
std::uint16_t to_fp16(std::int32_t bits) {
  const std::int32_t magnitude = bits & 0x7fffffff;
  const std::int32_t normal = std::min((magnitude - kBiases + 0xfff + (magnitude >> 13 & 1)) >> 13, 0x7bff);
  // the last bit of a subnormal is worth 2^-24, as that of a float32 from 0.5 to 1: adding 0.5 rounds to it
  const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kHalf);
  const std::int32_t subnormal = std::bit_cast<std::int32_t>(shifted) - kHalf;
  const std::int32_t finite = select(magnitude < kLeastNormal, subnormal, normal);
  const std::int32_t not_finite = magnitude > kInfinity ? 0x7e00 : 0x7c00;
  return static_cast<std::uint16_t>(select(magnitude < kInfinity, finite, not_finite) | (bits >> 16 & 0x8000));
}

float from_fp16(std::uint16_t half) {
  const std::int32_t magnitude = half & 0x7fff;
  const std::int32_t normal = (magnitude << 13) + (magnitude < 0x7c00 ? kBiases : 2 * kBiases);
  const auto subnormal = std::bit_cast<std::int32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  const std::int32_t bits = select(magnitude < 0x400, subnormal, normal);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) | (half & 0x8000u) << 16);
}

}  // namespace

CodecRow rows::fp16() {
  return {.name = "fp16",
          .summary = "IEEE 754 float16: 2 bytes each, 11 bits of precision, up to 65504",
          .parameters = {},
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<SixteenBits<to_fp16, from_fp16>>(stream);
          }};
}

}  // namespace mangrove::codec
