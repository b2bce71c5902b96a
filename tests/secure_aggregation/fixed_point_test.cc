#include "mangrove/secure_aggregation/fixed_point.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::secure {
namespace {

constexpr double kRange = 16;

TEST(FixedPoint, ASumIsThatOfTheWeightedNumbers) {
  Random random(5);
  for (const std::size_t terms : {std::size_t{1}, std::size_t{3}, std::size_t{100}, std::size_t{1000}}) {
    std::uint32_t sum = 0;
    std::array<std::uint32_t, 2> wide{};
    double plain = 0;
    for (std::size_t i = 0; i < terms; ++i) {
      const float value = static_cast<float>(random.uniform(-1, 1));
      const double weight = 1 / static_cast<double>(terms);
      std::array<std::uint32_t, 1> word{};
      encode(std::span(&value, 1), kRange, weight, word);
      sum += word[0];
      std::array<std::uint32_t, 2> two{};
      encode_wide(value, 1e6, weight, two);
      for (std::size_t k = 0; k < 2; ++k) wide[k] += two[k];
      plain += value * weight;
    }
    const double half_steps = 0.5 * static_cast<double>(terms);
    EXPECT_NEAR(decode(sum, kRange), plain, half_steps * kRange / (std::ldexp(1, 31) - std::ldexp(1, 16)));
    EXPECT_NEAR(decode_wide(wide, 1e6), plain, half_steps * 1e6 * std::ldexp(1, -46) + 1e-15);
  }
}

// As many clients as there may be, each at the end of the range, and rounded away from zero.
TEST(FixedPoint, TheLargestSumDoesNotOverflow) {
  for (const double end : {-1.0, 1.0}) {
    const double weight = 1 / static_cast<double>(kMostClients);
    const float value = static_cast<float>(end * kRange);
    std::array<std::uint32_t, 1> word{};
    encode(std::span(&value, 1), kRange, weight, word);
    std::array<std::uint32_t, 2> wide{};
    encode_wide(end * kRange, kRange, weight, wide);
    std::uint32_t sum = 0;
    std::array<std::uint32_t, 2> wide_sum{};
    for (std::size_t i = 0; i < kMostClients; ++i) {
      sum += word[0];
      for (std::size_t k = 0; k < 2; ++k) wide_sum[k] += wide[k];
    }
    EXPECT_NEAR(decode(sum, kRange), end * kRange, kRange * std::ldexp(1, -15));
    EXPECT_NEAR(decode_wide(wide_sum, kRange), end * kRange, kRange * std::ldexp(1, -29));
  }
}

TEST(FixedPoint, NumbersOutsideTheRangeCountAsItsEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{17, -1e30f, infinity, -infinity, std::nanf(""), 0};
  const std::vector<double> expected{16, -16, 16, -16, 0, 0};
  std::vector<std::uint32_t> words(values.size());
  encode(values, kRange, 1, words);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(decode(words[i], kRange), expected[i], 1e-12);
    std::array<std::uint32_t, 2> wide{};
    encode_wide(values[i], kRange, 1, wide);
    EXPECT_NEAR(decode_wide(wide, kRange), expected[i], 1e-12);
  }
}

}  // namespace
}  // namespace mangrove::secure
