#include <gtest/gtest.h>

#include <algorithm>

#include "mangrove/data/loader.h"

namespace mangrove::data {
namespace {

TEST(EpochOrder, IsAPermutation) {
  auto order = epoch_order(1000, 7, 3);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
}

TEST(EpochOrder, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(epoch_order(100, 1, 2), epoch_order(100, 1, 2));
  EXPECT_NE(epoch_order(100, 1, 2), epoch_order(100, 1, 3));
  EXPECT_NE(epoch_order(100, 1, 2), epoch_order(100, 2, 2));
  EXPECT_TRUE(epoch_order(0, 1, 2).empty());
}

TEST(Shard, PartsFollowEachOtherAndAreNearlyEqual) {
  for (const std::uint32_t n : {0u, 1u, 7u, 10u, 60'000u, 4'000'000'000u})
    for (const std::uint32_t parts : {1u, 2u, 3u, 4u, 7u, 1000u}) {
      std::uint32_t expected_first = 0;
      for (std::uint32_t i = 0; i < parts; ++i) {
        const auto [first, last] = shard(n, i, parts);
        ASSERT_EQ(first, expected_first) << n << " " << i << "/" << parts;
        ASSERT_GE(last - first, n / parts);
        ASSERT_LE(last - first, n / parts + 1);
        expected_first = last;
      }
      ASSERT_EQ(expected_first, n);
    }
}

}  // namespace
}  // namespace mangrove::data
