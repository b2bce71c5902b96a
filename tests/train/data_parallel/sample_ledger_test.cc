#include "mangrove/train/data_parallel/sample_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

SampleLedger::Samples order_of(std::uint32_t n) {
  SampleLedger::Samples order(n);
  std::iota(order.begin(), order.end(), 100u);
  return order;
}

SampleLedger::Rooms equal(const net::RankSet& ranks, std::size_t room) {
  SampleLedger::Rooms rooms;
  for (const net::Rank rank : ranks) rooms[rank] = room;
  return rooms;
}

TEST(SampleLedger, PartsAreContiguousAndNearlyEqual) {
  SampleLedger work(order_of(10));
  const auto parts = work.assign(equal({1, 2, 3}, 4));
  EXPECT_EQ(parts.at(1).size() + parts.at(2).size() + parts.at(3).size(), 10u);
  SampleLedger::Samples joined;
  for (const auto& [rank, samples] : parts) {
    EXPECT_GE(samples.size(), 3u);
    EXPECT_LE(samples.size(), 4u);
    joined.insert(joined.end(), samples.begin(), samples.end());
  }
  EXPECT_EQ(joined, order_of(10));
}

TEST(SampleLedger, FullStepsGiveEveryRankItsBatch) {
  SampleLedger work(order_of(20));
  for (const auto& [rank, samples] : work.assign(equal({2, 5}, 4))) EXPECT_EQ(samples.size(), 4u);
  EXPECT_EQ(work.pending_count(), 12u);
}

TEST(SampleLedger, RanksWithoutSamplesAreLeftOut) {
  SampleLedger work(order_of(2));
  EXPECT_EQ(work.assign(equal({1, 2, 3}, 4)).size(), 2u);
  EXPECT_TRUE(work.assign(equal({4}, 4)).empty());
  EXPECT_FALSE(work.done());
}

TEST(SampleLedger, RoomsMayBeOfAnySize) {
  using Parts = std::map<net::Rank, SampleLedger::Samples>;
  SampleLedger work({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  EXPECT_EQ(work.assign({{1, 2}, {2, 1}, {3, 7}}), (Parts{{1, {0, 1}}, {2, {2}}, {3, {3, 4, 5, 6, 7, 8, 9}}}));
  EXPECT_EQ(work.assign({{1, 2}, {2, 0}, {3, 8}}), (Parts{{1, {10}}, {3, {11, 12, 13, 14}}})) << "in proportion";
  EXPECT_TRUE(work.assign({{1, 2}}).empty());
}

TEST(SampleLedger, PreviewIsWhatTheNextStepGets) {
  SampleLedger work(order_of(17));
  const std::vector<net::Rank> ranks = {1, 2};
  work.assign(equal(ranks, 4));
  const auto preview = work.preview(equal(ranks, 4));
  work.finish(1);
  work.finish(2);
  EXPECT_EQ(work.assign(equal(ranks, 4)), preview);
}

TEST(SampleLedger, GivingEverythingBackInReverseRestoresTheOrder) {
  SampleLedger work(order_of(30));
  work.assign(equal({1, 2, 3}, 5));
  for (const net::Rank rank : {3, 2, 1}) EXPECT_EQ(work.give_back(rank), 5u);
  EXPECT_EQ(work.unfinished(), order_of(30));
}

TEST(SampleLedger, PartsOfOneRankAreFinishedInTheirOrder) {
  SampleLedger work(order_of(12));
  const net::Rank rank = 3;
  const SampleLedger::Samples first = work.assign({{rank, 4}}).at(rank);
  const SampleLedger::Samples second = work.assign({{rank, 5}}).at(rank);
  ASSERT_EQ(work.parts(rank).size(), 2u);
  EXPECT_EQ(work.parts(rank)[0], first);
  EXPECT_EQ(work.unfinished(), order_of(12));
  EXPECT_EQ(work.finish(rank), 4u);
  EXPECT_EQ(work.parts(rank)[0], second);
  EXPECT_EQ(work.unfinished_count(), 8u);
  EXPECT_EQ(work.give_back(rank), 5u);
  EXPECT_EQ(work.unfinished().front(), second.front());
  EXPECT_EQ(work.pending_count(), 8u);
}

std::shared_ptr<const std::vector<net::Rank>> owned_by(std::vector<net::Rank> owners) {
  return std::make_shared<const std::vector<net::Rank>>(std::move(owners));
}

TEST(SampleLedger, OwnersGetTheirOwnSamplesAndNobodyElse) {
  SampleLedger work({5, 4, 3, 2, 1, 0}, owned_by({1, 2, 1, 2, 1, 1}));
  using Parts = std::map<net::Rank, SampleLedger::Samples>;
  EXPECT_EQ(work.assign(equal({1, 2, 3}, 3)), (Parts{{1, {5, 4, 2}}, {2, {3, 1}}}));
  EXPECT_TRUE(work.has_for(1));
  EXPECT_FALSE(work.has_for(2));
  EXPECT_TRUE(work.assign(equal({2, 3}, 3)).empty());
  EXPECT_EQ(work.unfinished(), (SampleLedger::Samples{5, 4, 2, 3, 1, 0}));
  EXPECT_EQ(work.give_back(1), 3u);
  EXPECT_EQ(work.assign(equal({1, 2}, 9)), (Parts{{1, {5, 4, 2, 0}}}));
}

TEST(SampleLedger, SamplesOfOwnersThatAreGoneAreForTheOthers) {
  SampleLedger work({0, 1, 2, 3, 4, 5}, owned_by({1, 1, 1, 1, 2, 2}));
  work.assign(equal({1}, 2));
  work.disown(1);
  EXPECT_EQ(work.give_back(1), 2u);
  const auto parts = work.assign(equal({2, 3}, 3));
  EXPECT_EQ(parts.at(2), (SampleLedger::Samples{4, 5, 0}));  // its own, and a part in proportion to its room
  EXPECT_EQ(parts.at(3), (SampleLedger::Samples{1, 2, 3}));
  EXPECT_EQ(work.pending_count(), 0u);
}

/// A random epoch: ranks come and go, steps are redone, some ranks answer in any order.
void run_random_epoch(std::uint64_t seed, bool is_owned) {
  Random random(seed);
  const auto n = static_cast<std::uint32_t>(random.below(200));
  const std::size_t batch = 1 + random.below(9);
  std::vector<net::Rank> owners(n + 100);
  for (net::Rank& owner : owners) owner = static_cast<net::Rank>(random.below(7));
  SampleLedger work(order_of(n), is_owned ? owned_by(owners) : nullptr);
  std::set<net::Rank> gone;
  std::map<std::uint32_t, int> counted;
  for (int step = 0; !work.done(); ++step) {
    ASSERT_LT(step, 20'000) << "seed " << seed;
    std::vector<net::Rank> ranks;
    for (net::Rank rank = 1; rank <= 6; ++rank) {
      if (random.below(3) > 0) ranks.push_back(rank);
    }
    std::erase_if(ranks, [&](net::Rank rank) { return gone.contains(rank); });
    const auto parts = work.assign(equal(ranks, batch));
    std::vector<net::Rank> holders;
    for (const auto& [rank, samples] : parts) holders.push_back(rank);
    random.shuffle(std::span(holders));
    std::size_t total = work.pending_count();
    for (const net::Rank rank : holders) {
      ASSERT_TRUE(work.holds(rank));
      ASSERT_LE(parts.at(rank).size(), batch);
      if (random.below(4) == 0) {
        if (gone.size() < 5 && random.below(20) == 0) {
          work.disown(rank);
          gone.insert(rank);
        }
        total += work.give_back(rank);
        continue;
      }
      for (const std::uint32_t sample : parts.at(rank)) {
        ++counted[sample];
        const net::Rank owner = is_owned ? owners[sample] : SampleLedger::kNobody;
        ASSERT_TRUE(owner == SampleLedger::kNobody || owner == rank || gone.contains(owner));
      }
      ASSERT_EQ(work.finish(rank), parts.at(rank).size());
    }
    ASSERT_EQ(work.pending_count(), total) << "seed " << seed;
  }
  ASSERT_EQ(counted.size(), n) << "seed " << seed;
  for (const auto& [sample, times] : counted) ASSERT_EQ(times, 1) << "seed " << seed << " sample " << sample;
}

TEST(SampleLedger, EverySampleIsCountedOnceWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) run_random_epoch(seed, seed % 2 == 0);
}

}  // namespace
}  // namespace mangrove::train
