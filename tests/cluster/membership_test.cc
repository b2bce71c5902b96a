#include "mangrove/cluster/membership.h"

#include <gtest/gtest.h>

#include "mangrove/identity/subject.h"

namespace mangrove::cluster {
namespace {

class SilentLink final : public NodeLink {
 public:
  void send(ToNode) override {}
  void cut() override {}
};

NodeDescription named(const std::string& name) {
  NodeDescription description;
  description.set_name(name);
  return description;
}

MemberId join(Membership& membership, const std::string& name, Instant now = {0}) {
  return membership.join(named(name), "", std::make_shared<SilentLink>(), now).id;
}

/// "a alive, b lost"
std::string listing(const Membership& membership) {
  std::string text;
  for (const NodeStatus& status : membership.list({0}))
    text += (text.empty() ? "" : ", ") + status.description().name() + " " + status.state();
  return text;
}

TEST(Membership, ListsNodesInOrderOfJoining) {
  Membership membership(0.5, 6);
  EXPECT_EQ(listing(membership), "");
  join(membership, "b");
  join(membership, "a");
  EXPECT_EQ(listing(membership), "b alive, a alive");
  EXPECT_EQ(membership.alive().size(), 2u);
}

TEST(Membership, NumbersNamesThatAreTaken) {
  Membership membership(0.5, 6);
  for (int i = 0; i < 3; ++i) join(membership, "pi");
  EXPECT_EQ(listing(membership), "pi alive, pi#2 alive, pi#3 alive");
}

TEST(Membership, NobodyIsShownWithTheNameOfAnother) {
  Membership membership(0.5, 6);
  const auto join_as = [&](const std::string& certified) {
    return membership.join(named("pi-2"), certified, std::make_shared<SilentLink>(), {0}).description.name();
  };
  EXPECT_EQ(join_as("pi"), "pi");
  EXPECT_EQ(join_as("pi"), "pi#2");
  EXPECT_EQ(join_as("pi-2"), "pi-2");
  EXPECT_FALSE(identity::check_name("pi#2").ok()) << "no certificate has it";
}

TEST(Membership, NamesFitIntoLogsAndFiles) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "node"}, {"../../etc", "..-..-etc"}, {"a b\nc", "a_b_c"}, {std::string(1000, 'x'), std::string(63, 'x')}};
  for (const auto& [wanted, got] : cases) {
    Membership membership(0.5, 6);
    join(membership, wanted);
    const std::string name = membership.list({0}).front().description().name();
    EXPECT_EQ(name.find_first_of("/ \n"), std::string::npos) << name;
    EXPECT_EQ(name.size(), got.size()) << name;
  }
}

TEST(Membership, ANodeThatWasLostTakesItsNameAgainAsANewMember) {
  Membership membership(0.5, 6);
  const MemberId first = join(membership, "pi", {0});
  EXPECT_EQ(membership.expire({1}), std::vector<MemberId>{});
  EXPECT_EQ(membership.expire({2}), std::vector<MemberId>{});
  EXPECT_EQ(membership.expire({3.1}), std::vector<MemberId>{first});
  EXPECT_EQ(listing(membership), "pi lost");
  EXPECT_FALSE(membership.heartbeat(first, {}, {4})) << "it must join anew";
  const MemberId second = join(membership, "pi", {5});
  EXPECT_NE(first, second);
  EXPECT_EQ(listing(membership), "pi alive");
  EXPECT_FALSE(membership.alive(first));
  EXPECT_TRUE(membership.alive(second));
}

TEST(Membership, HeartbeatsKeepANodeAndCarryItsUse) {
  Membership membership(0.5, 6);
  const MemberId node = join(membership, "pi", {0});
  ResourceUse use;
  use.set_rss_bytes(1234);
  for (int second = 1; second < 20; ++second) {
    EXPECT_TRUE(membership.heartbeat(node, use, {static_cast<double>(second)}));
    EXPECT_TRUE(membership.expire({static_cast<double>(second)}).empty());
  }
  EXPECT_EQ(membership.list({0}).front().use().rss_bytes(), 1234);
}

TEST(Membership, SaysHowManyHeartbeatsANodeIsLate) {
  Membership membership(0.5, 6);
  join(membership, "pi", {10});
  EXPECT_DOUBLE_EQ(membership.list({10.5}).front().suspicion(), 1);
  EXPECT_DOUBLE_EQ(membership.list({12.5}).front().suspicion(), 5);
  EXPECT_EQ(membership.expire({13}).size(), 0u);
  EXPECT_EQ(membership.expire({13.1}).size(), 1u);
  EXPECT_EQ(membership.list({14}).front().suspicion(), 0) << "it is lost: nothing is suspected any more";
}

TEST(Membership, GoneIsToldOnce) {
  Membership membership(0.5, 6);
  const MemberId node = join(membership, "pi");
  EXPECT_TRUE(membership.gone(node, MemberState::left));
  EXPECT_FALSE(membership.gone(node, MemberState::lost));
  EXPECT_FALSE(membership.gone(99, MemberState::lost));
  EXPECT_EQ(listing(membership), "pi left");
  EXPECT_TRUE(membership.expire({100}).empty());
}

TEST(Membership, RemembersALimitedNumberOfThoseThatAreGone) {
  Membership membership(0.5, 6);
  join(membership, "stays");
  for (int i = 0; i < 500; ++i) membership.gone(join(membership, "n" + std::to_string(i)), MemberState::left);
  EXPECT_LE(membership.list({0}).size(), 65u);
  EXPECT_EQ(membership.list({0}).front().description().name(), "stays");
  EXPECT_EQ(membership.list({0}).back().description().name(), "n499");
}

TEST(Membership, PutsANodeAsideThatWasIdleInThreeJobsInARow) {
  Membership membership(0.5, 6);
  const MemberId pi = join(membership, "pi"), ann = join(membership, "ann");
  for (const bool was_idle : {true, true, false, true, true}) {
    membership.count_job(pi, was_idle);
    membership.count_job(ann, false);
  }
  EXPECT_EQ(membership.for_jobs().size(), 2u);
  EXPECT_EQ(listing(membership), "pi alive, ann alive");
  membership.count_job(pi, true);
  ASSERT_EQ(membership.for_jobs().size(), 1u);
  EXPECT_EQ(membership.for_jobs().front().id, ann);
  EXPECT_EQ(membership.put_aside(), std::vector<std::string>{"pi"});
  EXPECT_EQ(membership.alive().size(), 2u) << "it is there";
  EXPECT_EQ(listing(membership), "pi idle, ann alive");
}

TEST(Membership, ANodeThatHasJoinedAgainTakesPartInJobsAgain) {
  Membership membership(0.5, 6);
  const MemberId pi = join(membership, "pi");
  for (int i = 0; i < 3; ++i) membership.count_job(pi, true);
  membership.gone(pi, MemberState::left);
  EXPECT_EQ(listing(membership), "pi left");
  join(membership, "pi");
  EXPECT_EQ(listing(membership), "pi alive");
  EXPECT_EQ(membership.for_jobs().size(), 1u);
}

}  // namespace
}  // namespace mangrove::cluster
