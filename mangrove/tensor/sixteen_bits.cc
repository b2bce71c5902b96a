#include "mangrove/tensor/sixteen_bits.h"

#include <bit>
#include <cmath>
#include <limits>

namespace mangrove {
namespace {

constexpr float kLeastNormalHalf = 0x1p-14f, kLeastHalf = 0x1p-24f;
constexpr float kEndOfHalf = 65520;  // halfway from the largest float16 to what would be the next

// Without the last `dropped` bits of the significand, rounded to the nearest, of two to the even one. A carry goes into
// the exponent, as it should.
float rounded_bits(float value, int dropped) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t last_kept = (bits >> dropped) & 1, below_half = (1u << (dropped - 1)) - 1;
  const std::uint32_t mask = ~((1u << dropped) - 1);
  return std::bit_cast<float>((bits + below_half + last_kept) & mask);
}

}  // namespace

float from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, significand = bits & 0x3ff;
  const float sign = bits >> 15 != 0 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * static_cast<float>(significand) * kLeastHalf;
  if (exponent == 0x1f)
    return significand == 0 ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return sign * std::ldexp(static_cast<float>(significand | 0x400), exponent - 25);
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float rounded_to_float16(float value) {
  if (std::isnan(value)) return value;
  const float magnitude = std::abs(value);
  if (magnitude >= kEndOfHalf) return std::copysign(std::numeric_limits<float>::infinity(), value);
  if (magnitude < kLeastNormalHalf) return std::copysign(std::nearbyint(magnitude / kLeastHalf) * kLeastHalf, value);
  return rounded_bits(value, 13);
}

float rounded_to_bfloat16(float value) {
  return std::isnan(value) ? value : rounded_bits(value, 16);
}

}  // namespace mangrove
