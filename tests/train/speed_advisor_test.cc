#include "mangrove/train/speed_advisor.h"

#include <gtest/gtest.h>

namespace mangrove::train {
namespace {

/// Rounds of 10 samples on each of 4 boards, which compute them in `compute`; a round lasts a second.
int times_told(SpeedAdvisor& advisor, Seconds compute, int rounds) {
  int told = 0;
  for (int round = 1; round <= rounds; ++round) {
    for (net::Rank rank = 1; rank <= 4; ++rank) advisor.add(rank, 10, compute);
    if (const auto advice = advisor.end_update(round, 4)) {
      EXPECT_EQ(advice->boards, 1u);
      ++told;
    }
  }
  return told;
}

TEST(SpeedAdvisor, SaysOnceThatOneBoardWouldBeFaster) {
  SpeedAdvisor advisor(10, 1000, 0);
  EXPECT_FALSE(advisor.advice()) << "nothing is measured";
  EXPECT_EQ(times_told(advisor, 0.1, 20), 1);
  ASSERT_TRUE(advisor.advice());
  EXPECT_NEAR(advisor.advice()->speedup, 0.4, 1e-9);
}

TEST(SpeedAdvisor, SaysNothingWhereTheBoardsAreWorthIt) {
  SpeedAdvisor advisor(10, 1000, 0);
  EXPECT_EQ(times_told(advisor, 0.9, 20), 0);
  EXPECT_EQ(advisor.advice()->boards, 4u);
}

}  // namespace
}  // namespace mangrove::train
