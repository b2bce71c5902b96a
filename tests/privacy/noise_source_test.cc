#include "mangrove/privacy/noise_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::privacy {
namespace {

std::vector<float> noise(NoiseSource source, double deviation, std::size_t count) {
  std::vector<float> values(count, 0.0f);
  source.add_normal(deviation, values);
  return values;
}

/// Whether they look normal, with mean 0 and this deviation: moments within five of their own standard deviations, and
/// as many values below each of some bounds as there should be.
void expect_normal(std::vector<float> values, double deviation) {
  const auto n = static_cast<double>(values.size());
  double first = 0, second = 0, fourth = 0;
  for (float& value : values) {
    value = static_cast<float>(value / deviation);
    const double square = double{value} * value;
    first += value / n;
    second += square / n;
    fourth += square * square / n;
  }
  EXPECT_NEAR(first, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(second, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96 / n));
  for (const double bound : {-3.0, -1.0, -0.1, 0.5, 2.0}) {
    const double share = std::erfc(-bound / std::sqrt(2.0)) / 2;
    const auto below = static_cast<double>(std::ranges::count_if(values, [&](float value) { return value < bound; }));
    EXPECT_NEAR(below / n, share, 5 * std::sqrt(share * (1 - share) / n)) << bound;
  }
}

constexpr std::size_t kMany = 400000;

TEST(NoiseSource, OfASeedIsNormalAndTheSameAgain) {
  const std::vector<float> values = noise(NoiseSource::of_seed(7, 1), 2.5, kMany);
  expect_normal(values, 2.5);
  EXPECT_EQ(noise(NoiseSource::of_seed(7, 1), 2.5, kMany), values);
  EXPECT_NE(noise(NoiseSource::of_seed(7, 2), 2.5, kMany), values);
  EXPECT_NE(noise(NoiseSource::of_seed(8, 1), 2.5, kMany), values);
}

TEST(NoiseSource, OfBytesIsNormalAndTakesEachByteOnce) {
  Random random(11);
  std::size_t bytes = 0;
  const auto fill = [&](std::span<std::byte> block) {
    bytes += block.size();
    for (std::byte& byte : block) byte = static_cast<std::byte>(random.below(256));
  };
  expect_normal(noise(NoiseSource::of_bytes(fill), 0.5, kMany), 0.5);
  EXPECT_GE(bytes, kMany * 8);
}

TEST(NoiseSource, AddsToWhatIsThere) {
  std::vector<float> values(3, 100.0f);
  NoiseSource::of_seed(1, 1).add_normal(0.001, values);
  for (const float value : values) EXPECT_NEAR(value, 100, 0.01);
}

TEST(NoiseSource, AChanceComesAsOftenAsItSays) {
  NoiseSource source = NoiseSource::of_seed(3, 3);
  for (const double probability : {0.0, 0.01, 0.3, 1.0}) {
    int hits = 0;
    for (std::size_t i = 0; i < kMany; ++i) hits += source.chance(probability) ? 1 : 0;
    const double n = kMany;
    EXPECT_NEAR(hits / n, probability, 5 * std::sqrt(probability * (1 - probability) / n) + 1e-12) << probability;
  }
}

}  // namespace
}  // namespace mangrove::privacy
