#include "mangrove/codec/largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mangrove/base/random.h"

namespace mangrove::codec {
namespace {

std::vector<std::uint32_t> largest_by_sorting(const std::vector<float>& values, std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](std::uint32_t index) { return values[index] == 0; });
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return magnitude_bits(values[a]) > magnitude_bits(values[b]);
  });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Largest, AreThoseOfASort) {
  Random random(1);
  for (const std::size_t n : {1u, 2u, 60u, 61u, 62u, 1000u, 40000u}) {
    std::vector<float> normal(n), few_values(n), mostly_zero(n), with_outliers(n);
    for (std::size_t i = 0; i < n; ++i) {
      normal[i] = static_cast<float>(random.normal());
      few_values[i] = static_cast<float>(random.below(5)) - 2;
      mostly_zero[i] = random.below(50) == 0 ? normal[i] : 0;
      with_outliers[i] = random.below(1000) == 0 ? 1e20f * normal[i] : 1e-20f * normal[i];
    }
    for (const auto& values : {normal, few_values, mostly_zero, with_outliers}) {
      for (const std::size_t count : {std::size_t{1}, n / 1000, n / 100, n / 3, n - 1, n}) {
        ASSERT_EQ(largest(values, count), largest_by_sorting(values, count)) << n << " " << count;
      }
    }
  }
}

TEST(Largest, AreRightWhereTheSampleMisleads) {
  // every 61st is sampled: large ones there, and only there; then nowhere there
  std::vector<float> sampled(61000, 1), others(61000, 5);
  for (std::size_t i = 0; i < sampled.size(); i += 61) {
    sampled[i] = static_cast<float>(i) + 2;
    others[i] = 0.5f;
  }
  for (const auto& values : {sampled, others}) {
    for (const std::size_t count : {10u, 900u, 1100u, 10000u, 60500u}) {
      EXPECT_EQ(largest(values, count), largest_by_sorting(values, count)) << count;
    }
  }
}

TEST(Largest, TakesTheFirstOfEqualOnesAndNoZeros) {
  const std::vector<float> equal(1000, -3);
  EXPECT_EQ(largest(equal, 3), (std::vector<std::uint32_t>{0, 1, 2}));
  std::vector<float> zeros(1000, 0);
  zeros[7] = -0.0f;
  zeros[900] = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(largest(zeros, 3), (std::vector<std::uint32_t>{900}));
  EXPECT_TRUE(largest({}, 0).empty());
}

TEST(Largest, PutsNanAboveInfinityAboveNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, nan, -infinity, 2, -nan, std::numeric_limits<float>::max()};
  EXPECT_EQ(largest(values, 2), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(largest(values, 3), (std::vector<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(largest(values, 4), (std::vector<std::uint32_t>{1, 2, 4, 5}));
  EXPECT_EQ(largest(std::vector<float>(500, nan), 2), (std::vector<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace mangrove::codec
