#include "mangrove/testbed/network_plan.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <set>

namespace mangrove::testbed {
namespace {

Board board(const std::string& name) {
  Board made;
  made.name = name;
  return made;
}

bool has(const std::vector<std::string>& commands, const std::string& wanted) {
  return std::find(commands.begin(), commands.end(), wanted) != commands.end();
}

std::string all(const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) text += command + "\n";
  return text;
}

TEST(NetworkPlan, GivesEveryBoardItsOwnNamesAndAddress) {
  const NetworkPlan plan(3, {board("pi-1"), board("edge")});
  EXPECT_EQ(plan.bridge, "mgtb3");
  EXPECT_EQ(plan.address, "198.18.3.1");
  ASSERT_EQ(plan.links.size(), 2u);
  EXPECT_EQ(plan.links[1].netns, "mangrove-3-edge");
  EXPECT_EQ(plan.links[1].port, "mgtb3-2");
  EXPECT_EQ(plan.links[1].address, "198.18.3.3");
}

TEST(NetworkPlan, TheLargestTestbedsHaveRoomAndDoNotMeet) {
  std::set<std::string> names;
  std::size_t expected = 0;
  for (const int slot : {0, 1, kSlots - 1}) {
    std::vector<Board> boards;
    for (int i = 1; i <= kMostBoards; ++i) boards.push_back(board("pi-" + std::to_string(i)));
    const NetworkPlan plan(slot, boards);
    names.insert({plan.bridge, plan.address});
    expected += 2;
    for (const BoardLink& link : plan.links) {
      EXPECT_LT(relay_end(link).size(), std::size_t{IFNAMSIZ});
      EXPECT_LT(std::stoi(link.address.substr(link.address.rfind('.') + 1)), 255) << link.address;
      names.insert({link.netns, link.port, relay_end(link), link.address});
      expected += 4;
    }
  }
  EXPECT_EQ(names.size(), expected);
}

TEST(NetworkPlan, RatesAreTokenBucketsAtBothEnds) {
  Board limited = board("pi");
  limited.rate = 12.5e6;
  const NetworkPlan plan(0, {limited});
  const auto commands = link_commands(plan, plan.links[0], FaultMeans::none);
  const std::string bucket = "root tbf rate 100000000bit burst 75000 limit 700000";
  EXPECT_TRUE(has(commands, "tc qdisc add dev mgtb0-1 " + bucket)) << all(commands);
  EXPECT_TRUE(has(commands, "tc -n mangrove-0-pi qdisc add dev eth0 " + bucket)) << all(commands);
}

TEST(NetworkPlan, TcpBetweenBoardsIsThatOfAnyLinux) {
  const NetworkPlan plan(3, {board("pi")});
  const std::string route = "route replace 198.18.3.0/24 dev ";
  EXPECT_TRUE(has(bridge_commands(plan), "ip " + route + "mgtb3 scope link src 198.18.3.1 congctl cubic"));
  const auto commands = link_commands(plan, plan.links[0], FaultMeans::none);
  EXPECT_TRUE(has(commands, "ip -n mangrove-3-pi " + route + "eth0 scope link src 198.18.3.2 congctl cubic"))
      << all(commands);
}

TEST(NetworkPlan, ASlowLinkStillTakesWholeFrames) {
  Board slow = board("pi");
  slow.rate = 1250;
  const NetworkPlan plan(0, {slow});
  const std::string commands = all(link_commands(plan, plan.links[0], FaultMeans::none));
  EXPECT_NE(commands.find("rate 10000bit burst 3028 limit 33308"), std::string::npos) << commands;
}

TEST(NetworkPlan, WithoutARateThereIsNoQueue) {
  const NetworkPlan plan(0, {board("pi")});
  const std::string commands = all(link_commands(plan, plan.links[0], FaultMeans::none));
  EXPECT_EQ(commands.find("tc "), std::string::npos) << commands;
  EXPECT_NE(commands.find("ip link add name mgtb0-1 type veth peer name eth0 netns mangrove-0-pi"), std::string::npos)
      << commands;
}

TEST(NetworkPlan, NetemComesBeforeTheRate) {
  Board far = board("pi");
  far.rate = 1.25e6;
  far.delay = 0.05;
  far.jitter = 0.005;
  far.loss = 0.01;
  const NetworkPlan plan(0, {far});
  const auto commands = link_commands(plan, plan.links[0], FaultMeans::netem);
  EXPECT_TRUE(
      has(commands, "tc qdisc add dev mgtb0-1 root handle 1: netem limit 20000 delay 50000us 5000us loss 1.000000%"))
      << all(commands);
  EXPECT_TRUE(has(commands, "tc qdisc add dev mgtb0-1 parent 1: handle 2: tbf rate 10000000bit burst 7500 limit 70000"))
      << all(commands);
}

TEST(NetworkPlan, ARelayedLinkMovesItsOtherEnd) {
  Board far = board("pi");
  far.delay = 0.05;
  const NetworkPlan plan(0, {far});
  const auto commands = link_commands(plan, plan.links[0], FaultMeans::relay);
  EXPECT_TRUE(has(commands, "ip link set mgtb0-1n netns mangrove-0-pi name eth0")) << all(commands);
  EXPECT_EQ(all(commands).find("veth"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::testbed
