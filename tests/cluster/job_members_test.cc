#include "mangrove/cluster/job_members.h"

#include <gtest/gtest.h>

namespace mangrove::cluster {
namespace {

/// Remembers what was sent over it.
struct RecordingLink final : NodeLink {
  void send(ToNode message) override { sent.push_back(std::move(message)); }
  void cut() override {}
  std::vector<ToNode> sent;
};

struct JobMembersTest : ::testing::Test {
  Member node(MemberId id) {
    Member made;
    made.id = id;
    made.description.set_name("node-" + std::to_string(id));
    made.description.set_address("host-" + std::to_string(id) + ":1");
    made.link = links[id] = std::make_shared<RecordingLink>();
    return made;
  }
  std::vector<ToNode>& sent(MemberId id) { return links.at(id)->sent; }

  std::map<MemberId, std::shared_ptr<RecordingLink>> links;
  JobMembers members{"job-1", "coordinator:7070"};
};

TEST_F(JobMembersTest, GivesTheFirstNodesTheirRolesWithAllAddresses) {
  members.begin({node(7), node(3)});
  members.start(members.members());
  ASSERT_EQ(sent(3).size(), 1u);
  const StartRole& role = sent(3).front().start_role();
  EXPECT_EQ(role.job_id(), "job-1");
  EXPECT_EQ(role.rank(), 2);
  ASSERT_EQ(role.ranks_size(), 3);
  EXPECT_EQ(role.ranks(0).address(), "coordinator:7070");
  EXPECT_EQ(role.ranks(1).address(), "host-7:1");
  EXPECT_EQ(role.ranks(2).name(), "node-3");
  EXPECT_FALSE(members.has_changed());
  EXPECT_FALSE(members.publish());
  EXPECT_FALSE(members.introduce()) << "there are no newcomers";
}

TEST_F(JobMembersTest, TellsTheOthersOnceWhenOneIsLost) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  EXPECT_TRUE(members.lose(1));
  EXPECT_FALSE(members.lose(1)) << "it is gone already";
  EXPECT_FALSE(members.lose(9)) << "it is none of the job's";
  const auto told = members.publish();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->alive_ranks(), (net::RankSet{0, 2}));
  ASSERT_EQ(sent(2).size(), 2u);
  EXPECT_FALSE(sent(2).back().members_changed().ranks(1).alive());
  EXPECT_EQ(sent(1).size(), 1u) << "one that is gone is told nothing";
  EXPECT_FALSE(members.publish());
  EXPECT_EQ(members.alive_count(), 1u);
  EXPECT_EQ(members.rank_of("node-1"), 0);
  EXPECT_EQ(members.rank_of("node-2"), 2);
}

TEST_F(JobMembersTest, ANewcomerBeginsWhenAllOthersKnowIt) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  members.add(node(3));
  const auto told = members.publish();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->all.size(), 3u) << "rank 0 hears of it when it begins";
  EXPECT_TRUE(sent(3).empty());
  const std::uint64_t version = sent(1).back().members_changed().version();
  members.know(1, version);
  EXPECT_FALSE(members.introduce());
  members.know(2, version - 1);
  EXPECT_FALSE(members.introduce()) << "it knows of an older version";
  members.know(2, version + 100);  // of the future: as good as now
  const auto all = members.introduce();
  ASSERT_TRUE(all);
  EXPECT_GT(all->version, told->version);
  EXPECT_EQ(all->all.size(), 4u);
  members.start(*all);
  ASSERT_EQ(sent(3).size(), 1u);
  EXPECT_EQ(sent(3).front().start_role().rank(), 3);
  EXPECT_FALSE(members.introduce()) << "it has begun";
}

TEST_F(JobMembersTest, NobodyWaitsForOneThatIsGoneOrHasEnded) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  members.add(node(3));
  EXPECT_FALSE(members.introduce());
  EXPECT_TRUE(members.end(1, 1));
  members.lose(2);
  EXPECT_TRUE(members.introduce());
}

TEST_F(JobMembersTest, ALossWhileANewcomerIsIntroducedIsNotForgotten) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  members.add(node(3));
  members.publish();
  const std::uint64_t version = sent(1).back().members_changed().version();
  members.know(1, version);
  members.know(2, version);
  members.lose(2);
  members.start(*members.introduce());
  EXPECT_TRUE(members.has_changed());
  members.publish();
  EXPECT_FALSE(sent(1).back().members_changed().ranks(2).alive());
  EXPECT_FALSE(sent(3).back().members_changed().ranks(2).alive());
}

TEST_F(JobMembersTest, EndsRolesOnlyOfThoseThatHaveOne) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  members.add(node(3));
  members.end_roles();
  EXPECT_TRUE(sent(1).back().has_end_role());
  EXPECT_TRUE(sent(3).empty());
  EXPECT_FALSE(members.has(3));
  EXPECT_FALSE(members.end(3, 3));
  EXPECT_FALSE(members.all_ended());
  members.end(1, 1);
  members.lose(2);
  EXPECT_TRUE(members.all_ended());
}

TEST_F(JobMembersTest, ANodeThatWasGivenUpComesBackWithAnotherRankWhenItsRoleHasEnded) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  EXPECT_FALSE(members.may_come(2));
  EXPECT_TRUE(members.give_up(2));
  EXPECT_TRUE(sent(2).back().has_end_role());
  EXPECT_EQ(members.alive_count(), 1u);
  EXPECT_FALSE(members.may_come(2)) << "its role has not ended";
  EXPECT_FALSE(members.end(2, 1)) << "that is another node's rank";
  EXPECT_TRUE(members.end(2, 2));
  EXPECT_TRUE(members.may_come(2));
  members.add(node(2));
  members.publish();
  members.know(1, sent(1).back().members_changed().version());
  members.start(*members.introduce());
  ASSERT_TRUE(sent(2).back().has_start_role());
  EXPECT_EQ(sent(2).back().start_role().rank(), 3);
  EXPECT_FALSE(members.may_come(2));
  EXPECT_TRUE(members.lose(2));
  EXPECT_FALSE(members.may_come(2)) << "it would fail again";
}

TEST_F(JobMembersTest, ANewcomerThatIsGivenUpBeforeItBeginsGetsNoRole) {
  members.begin({node(1)});
  members.start(members.members());
  members.add(node(2));
  EXPECT_TRUE(members.give_up(2));
  EXPECT_TRUE(members.may_come(2)) << "it has no role that could end";
  members.add(node(3));
  members.publish();
  members.know(1, sent(1).back().members_changed().version());
  members.start(*members.introduce());
  for (const ToNode& message : sent(2)) EXPECT_FALSE(message.has_start_role());
  ASSERT_TRUE(sent(3).back().has_start_role());
  EXPECT_EQ(sent(3).back().start_role().rank(), 3);
}

TEST_F(JobMembersTest, SaysForWhomNewcomersWait) {
  members.begin({node(1), node(2)});
  members.start(members.members());
  EXPECT_TRUE(members.unaware().empty()) << "there are no newcomers";
  members.add(node(3));
  members.publish();
  const std::uint64_t version = sent(1).back().members_changed().version();
  members.know(1, version);
  ASSERT_EQ(members.unaware().size(), 1u);
  EXPECT_EQ(members.unaware().front().node, 2u);
  EXPECT_EQ(members.unaware().front().known, 0u);
  members.know(2, 1);
  EXPECT_EQ(members.unaware().front().known, 1u) << "it has heard of something";
  members.lose(2);
  EXPECT_TRUE(members.unaware().empty());
}

TEST_F(JobMembersTest, SaysWhoIsAtWork) {
  members.begin({node(7), node(3)});
  members.start(members.members());
  members.add(node(4));
  members.lose(7);
  EXPECT_EQ(members.at_work(), (std::map<net::Rank, MemberId>{{2, 3}})) << "a newcomer has no role yet";
}

}  // namespace
}  // namespace mangrove::cluster
