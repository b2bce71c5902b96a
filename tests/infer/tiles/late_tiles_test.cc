#include "mangrove/infer/tiles/late_tiles.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

constexpr Seconds kTimeout = 2;

/// Asks the ranks 1 to 3, of whom these say whether they have work, and concludes.
LateTiles::Found asked(LateTiles& late, const std::map<net::Rank, bool>& has_work) {
  const auto request = late.ask({1, 2, 3}, Instant{0});
  EXPECT_TRUE(request);
  for (const auto& [rank, has] : has_work) {
    TileStatus status;
    status.set_request(*request);
    status.set_has_work(has);
    late.take(rank, status);
  }
  const auto found = late.conclude(Instant{kTimeout});
  EXPECT_TRUE(found);
  return found.value_or(LateTiles::Found{});
}

TEST(LateTiles, AQuestionIsOpenUntilAllHaveSpokenOrTheTimeIsUp) {
  LateTiles late(kTimeout);
  const auto request = late.ask({1, 2}, Instant{0});
  ASSERT_TRUE(request);
  EXPECT_FALSE(late.ask({1, 2}, Instant{0})) << "one question at a time";
  TileStatus other;
  other.set_request(*request + 1);
  late.take(1, other);
  EXPECT_FALSE(late.conclude(Instant{1})) << "it was about another question";
  EXPECT_EQ(late.until().seconds, kTimeout);
  EXPECT_TRUE(late.conclude(Instant{kTimeout}));
  EXPECT_TRUE(late.ask({1}, Instant{3}));
}

TEST(LateTiles, WhoIsSilentWhileOthersSpeakIsToBlameTheThirdTime) {
  LateTiles late(kTimeout);
  for (int i = 1; i <= LateTiles::kStrikes; ++i) {
    const LateTiles::Found found = asked(late, {{1, false}, {3, false}});
    EXPECT_TRUE(found.has_suspects);
    EXPECT_EQ(found.silent, i < LateTiles::kStrikes ? net::RankSet{} : net::RankSet{2}) << i;
    EXPECT_TRUE(found.late.empty());
  }
}

TEST(LateTiles, IfNobodySpeaksNobodyIsSuspected) {
  LateTiles late(kTimeout);
  for (int i = 0; i < 5; ++i) {
    const LateTiles::Found found = asked(late, {});
    EXPECT_FALSE(found.has_suspects);
    EXPECT_TRUE(found.silent.empty());
  }
}

TEST(LateTiles, WhoHasWorkIsToBlameTheThirdTime) {
  LateTiles late(kTimeout);
  for (int i = 1; i <= LateTiles::kStrikes; ++i) {
    const LateTiles::Found found = asked(late, {{1, true}, {2, false}, {3, false}});
    EXPECT_TRUE(found.has_suspects);
    EXPECT_EQ(found.late, i < LateTiles::kStrikes ? net::RankSet{} : net::RankSet{1}) << i;
  }
}

TEST(LateTiles, AnAnswerClearsItsTeamAndNoOther) {
  LateTiles late(kTimeout);
  for (int i = 0; i < 3 * LateTiles::kStrikes; ++i) {
    const LateTiles::Found found = asked(late, {{1, true}, {2, true}, {3, false}});
    EXPECT_TRUE(found.late.empty() || found.late == net::RankSet{2}) << i;
    EXPECT_EQ(found.late.empty(), i + 1 < LateTiles::kStrikes);
    late.answered({1, 3});
  }
}

TEST(LateTiles, IfAllHaveSpokenAndNobodyHasWorkAMessageWasLost) {
  LateTiles late(kTimeout);
  EXPECT_FALSE(asked(late, {{1, false}, {2, false}, {3, false}}).has_suspects);
}

}  // namespace
}  // namespace mangrove::infer
