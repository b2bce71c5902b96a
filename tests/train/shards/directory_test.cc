#include "mangrove/train/shards/directory.h"

#include <gtest/gtest.h>

namespace mangrove::train {
namespace {

/// "1<0:5 2<1:5": who gets what from whom.
std::string text(const std::vector<ShardDirectory::Transfer>& transfers) {
  std::string text;
  for (const auto& [to, shard, from] : transfers)
    text += (text.empty() ? "" : " ") + std::to_string(to) + "<" + std::to_string(from) + ":" + std::to_string(shard);
  return text;
}

TEST(ShardDirectory, TheLeaderGivesAShardOnceAndWhoGotItGivesItToTheOthers) {
  ShardDirectory directory;
  for (const net::Rank rank : {1, 2, 3}) directory.want(rank, 5);
  directory.want(2, 6);
  EXPECT_EQ(text(directory.begin()), "1<0:5 2<0:6");
  EXPECT_EQ(text(directory.begin()), "") << "the others wait";
  directory.add(1, 5);
  EXPECT_EQ(text(directory.begin()), "2<1:5 3<1:5");
  directory.add(2, 5);
  EXPECT_EQ(directory.received(1).from_leader, 1);
  EXPECT_EQ(directory.received(2).from_others, 1);
  EXPECT_EQ(directory.received(2).from_leader, 0) << "6 is still on its way";
}

TEST(ShardDirectory, WhoGivesLeastIsAsked) {
  ShardDirectory directory;
  for (const net::Rank rank : {1, 2}) directory.add(rank, 0);
  for (const net::Rank rank : {3, 4, 5, 6}) directory.want(rank, 0);
  EXPECT_EQ(text(directory.begin()), "3<1:0 4<2:0 5<1:0 6<2:0");
  directory.add(4, 0);
  directory.add(6, 0);
  directory.want(7, 0);
  EXPECT_EQ(text(directory.begin()), "7<2:0") << "rank 1 gives to two";
}

TEST(ShardDirectory, ASourceThatWasRefusedIsNotToldAgainButTheLeader) {
  ShardDirectory directory;
  directory.add(1, 0);
  directory.want(2, 0);
  EXPECT_EQ(text(directory.begin()), "2<1:0");
  directory.refuse(2, 0, 1);
  directory.want(2, 0);
  EXPECT_EQ(text(directory.begin()), "2<0:0");
  directory.refuse(2, 0, 0);
  directory.want(2, 0);
  EXPECT_EQ(text(directory.begin()), "2<0:0");
  directory.want(3, 0);
  EXPECT_EQ(text(directory.begin()), "3<1:0") << "by another it was not refused";
}

TEST(ShardDirectory, NobodyWaitsForOneThatIsLostOrTakesTooLong) {
  ShardDirectory directory;
  for (const net::Rank rank : {1, 2}) directory.want(rank, 0);
  EXPECT_EQ(text(directory.begin()), "1<0:0");
  directory.lose(1);
  EXPECT_EQ(text(directory.begin()), "2<0:0");
  directory.want(3, 0);
  EXPECT_EQ(text(directory.begin()), "");
  directory.want(3, 0);
  EXPECT_EQ(text(directory.begin()), "3<0:0") << "it has asked again";
  directory.add(2, 0);
  directory.lose(2);
  directory.want(4, 0);
  EXPECT_EQ(text(directory.begin()), "") << "the leader is giving it to rank 3";
}

}  // namespace
}  // namespace mangrove::train
