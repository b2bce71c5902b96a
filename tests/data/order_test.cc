#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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

TEST(RunOrder, VisitsEachSampleOnceAndFilesOneAfterTheOther) {
  const std::vector<std::uint32_t> ends = {100, 150, 400, 401, 1000};
  const auto order = run_order(ends, 64, 7, 3);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i);
  EXPECT_EQ(order, run_order(ends, 64, 7, 3));
  EXPECT_NE(order, run_order(ends, 64, 7, 4));
  EXPECT_NE(order, run_order(ends, 64, 8, 3));
  const auto run_of = [&](std::uint32_t sample) {
    return std::upper_bound(ends.begin(), ends.end(), sample) - ends.begin();
  };
  for (std::size_t first = 0; first < order.size(); first += 64) {
    std::set<std::ptrdiff_t> runs;
    for (std::size_t i = first; i < std::min<std::size_t>(first + 64, 1000); ++i) runs.insert(run_of(order[i]));
    EXPECT_LE(runs.size(), 4u);
  }
  // in a window of one, runs are read in their order
  const auto plain = run_order(ends, 1, 7, 3);
  int jumps = 0;
  for (std::size_t i = 1; i < plain.size(); ++i) jumps += plain[i] != plain[i - 1] + 1 ? 1 : 0;
  EXPECT_LE(jumps, 4);
  EXPECT_EQ(run_order(std::vector<std::uint32_t>{1000}, 1000, 7, 3).size(), 1000u) << "one file in one window";
  EXPECT_TRUE(run_order({}, 5, 1, 1).empty());
}

}  // namespace
}  // namespace mangrove::data
