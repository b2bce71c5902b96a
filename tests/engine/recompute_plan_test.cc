#include "mangrove/engine/recompute_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

std::vector<ChainLink> random_chain(std::uint64_t seed) {
  Random random(seed);
  const auto draw = [&](std::uint64_t below) { return static_cast<Bytes>(random.below(below)); };
  std::vector<ChainLink> links(2 + random.below(9));
  for (ChainLink& link : links) {
    link = {.forward = static_cast<Seconds>(1 + random.below(50)),
            .kept = draw(40),
            .transient = draw(30),
            .boundary = draw(20)};
  }
  return links;
}

std::vector<std::size_t> cuts_of(unsigned set, std::size_t links) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < links; ++i) {
    if (set >> (i - 1) & 1) cuts.push_back(i);
  }
  return cuts;
}

Seconds recomputed(const std::vector<ChainLink>& links, const std::vector<std::size_t>& cuts) {
  Seconds sum = 0;
  for (std::size_t i = 0; !cuts.empty() && i < cuts.back(); ++i) sum += links[i].forward;
  return sum;
}

TEST(RecomputePlan, IsTheBestOfAllCutsOnRandomChains) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto links = random_chain(seed);
    const Bytes all = chain_peak(links, {});
    const Bytes budget = std::max<Bytes>(1, all * static_cast<Bytes>(1 + seed % 10) / 10);  // below 1024: no rounding
    Seconds best = std::numeric_limits<Seconds>::infinity();
    for (unsigned set = 0; set < 1u << (links.size() - 1); ++set) {
      const auto cuts = cuts_of(set, links.size());
      if (chain_peak(links, cuts) <= budget) best = std::min(best, recomputed(links, cuts));
    }
    const auto plan = plan_recomputation(links, budget);
    ASSERT_EQ(plan.has_value(), best < std::numeric_limits<Seconds>::infinity()) << seed;
    if (!plan) continue;
    EXPECT_EQ(plan->recomputed, best) << seed;
    EXPECT_EQ(recomputed(links, plan->cuts), best) << seed;
    EXPECT_LE(plan->peak, budget) << seed;
    EXPECT_EQ(plan->peak, chain_peak(links, plan->cuts)) << seed;
  }
}

TEST(RecomputePlan, LeastPeakIsReachedAndNothingLessIs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto links = random_chain(seed);
    Bytes least = std::numeric_limits<Bytes>::max();
    for (unsigned set = 0; set < 1u << (links.size() - 1); ++set) {
      least = std::min(least, chain_peak(links, cuts_of(set, links.size())));
    }
    EXPECT_EQ(least_peak(links), least) << seed;
  }
}

TEST(RecomputePlan, CutsNothingWhereEverythingFits) {
  const std::vector<ChainLink> links(20, {.forward = 1, .kept = 100, .transient = 10, .boundary = 50});
  const auto plan = plan_recomputation(links, 2010);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->cuts.empty());
  EXPECT_EQ(plan->recomputed, 0);
}

TEST(RecomputePlan, NeedsAboutTheRootOfALongEvenChain) {
  const std::vector<ChainLink> links(400, {.forward = 1, .kept = 1000, .transient = 0, .boundary = 1000});
  EXPECT_EQ(chain_peak(links, {}), 400 * 1000);
  EXPECT_LE(least_peak(links), 41 * 1000);  // 20 cuts and 20 links are 39 or so at once, and rounding
  EXPECT_FALSE(plan_recomputation(links, 20 * 1000));
}

TEST(RecomputePlan, OfNoLinksIsEmpty) {
  const auto plan = plan_recomputation({}, 0);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->cuts.empty());
}

}  // namespace
}  // namespace mangrove
