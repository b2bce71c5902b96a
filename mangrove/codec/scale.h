#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

/// Functions for codecs that send a scale and small whole multiples of it. They take NaN and infinity as zero, so that
/// one such value does not spoil the scale of the others.
namespace mangrove::codec {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

/// Works on the bits and has no branch, so that compilers vectorise loops over it.
inline float finite_or_zero(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000u;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto is_finite = static_cast<std::uint32_t>((bits & kInfinity) != kInfinity);
  return std::bit_cast<float>(bits & -is_finite);
}

inline float largest_magnitude(std::span<const float> values) {
  std::int32_t largest = 0;  // floats from 0 on have the order of their bits
  for (const float value : values)
    largest = std::max(largest, std::bit_cast<std::int32_t>(finite_or_zero(value)) & 0x7fffffff);
  return std::bit_cast<float>(largest);
}

/// The sum in double, whose range has room for the squares of all floats.
inline double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t kLanes = 8;  // several sums side by side; one sum would wait for each addition
  std::array<double, kLanes> sums{};
  const auto add = [&](std::size_t lane, float value) {
    const double finite = finite_or_zero(value);
    sums[lane] += finite * finite;
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (const float value : values.subspan(i)) add(0, value);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// 1 / scale. It is 0 for a scale so small that all its multiples may be 0. So products with it neither overflow nor
/// become NaN.
inline float inverse_or_zero(float scale) {
  return scale > 1e-30f ? 1 / scale : 0;
}

/// Whether a message may contain this scale.
inline bool is_scale(float scale) {
  return std::isfinite(scale) && scale >= 0;
}

inline void put_float(std::span<char> message, float value) {
  std::memcpy(message.first<sizeof value>().data(), &value, sizeof value);
}

inline float float_of(std::span<const char> message) {
  float value = 0;
  std::memcpy(&value, message.first<sizeof value>().data(), sizeof value);
  return value;
}

}  // namespace mangrove::codec
