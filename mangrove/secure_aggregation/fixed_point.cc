#include "mangrove/secure_aggregation/fixed_point.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"

namespace mangrove::secure {
namespace {

/// The rest up to 2^31 is for what rounding adds.
constexpr double kSteps = 2147483648.0 - kMostClients;

// Of a wide number, the low 16 bits are summed in a word of their own, where 2^16 of them have room.
constexpr double kWideSteps = 70368744177664.0;  // 2^46
constexpr int kLowBits = 16;
static_assert(kMostClients <= (1u << (32 - kLowBits)));

std::int64_t steps(double value, double range, double weight, double all) {
  if (std::isnan(value)) return 0;
  return std::llround(std::clamp(value, -range, range) * (weight * all / range));
}

}  // namespace

void encode(std::span<const float> values, double range, double weight, std::span<std::uint32_t> words) {
  MG_CHECK(values.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint32_t>(steps(values[i], range, weight, kSteps));
}

double decode(std::uint32_t word, double range) {
  return static_cast<double>(static_cast<std::int32_t>(word)) * (range / kSteps);
}

void encode_wide(double value, double range, double weight, std::span<std::uint32_t, 2> words) {
  const std::int64_t all = steps(value, range, weight, kWideSteps);
  words[0] = static_cast<std::uint32_t>(all >> kLowBits);
  words[1] = static_cast<std::uint32_t>(all & ((1 << kLowBits) - 1));
}

double decode_wide(std::span<const std::uint32_t, 2> words, double range) {
  const double high = static_cast<double>(static_cast<std::int32_t>(words[0])) * (1 << kLowBits);
  return (high + static_cast<double>(words[1])) * (range / kWideSteps);
}

}  // namespace mangrove::secure
