// Real testbeds whose nodes are a shell script: what is set, that it works, and that it goes.
#include "mangrove/testbed/testbed.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/base/temporary_folder.h"
#include "tests/testbed/here.h"

#include "mangrove/base/clock.h"
#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/control.h"
#include "mangrove/testbed/network.h"
#include "mangrove/testbed/tool.h"

namespace mangrove::testbed {
namespace {

const char* const kNode = R"(#!/bin/sh
role=$1
while [ $# -gt 1 ]; do
  case "$1" in --listen) listen=$2 ;; --name) name=$2 ;; esac
  shift
done
if [ "$role" = coordinator ]; then echo "coordinator ready on $listen"; exec sleep 1000; fi
cat /proc/self/cgroup /proc/sys/kernel/hostname >&2
echo "listens on $listen" >&2
echo "node $name ready on $listen"
exec sleep 1000
)";

struct TestbedTest : ::testing::Test {
  TestbedOptions options(const std::string& boards) {
    EXPECT_TRUE(write_file_atomically(folder / "boards.yaml", boards).ok());
    EXPECT_TRUE(write_file_atomically(folder / "program", kNode).ok());
    fs::permissions(folder / "program", fs::perms::owner_all);
    TestbedOptions made;
    made.file = folder / "boards.yaml";
    made.program = folder / "program";
    made.log_folder = folder.path();
    return made;
  }
  std::string log_of(const std::string& name) const {
    const auto text = read_file(folder / (name + ".log"));
    return text.ok() ? *text : std::string();
  }
  const MachineLock lock;
  const mangrove::testing::TemporaryFolder folder;
};

struct LimitedTestbed : TestbedTest {
  void SetUp() override {
    for (const std::string& reason : {why_no_groups(), why_no_links()})
      if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(LimitedTestbed, SetsWhatTheBoardsAskForAndTakesItDown) {
  auto testbed = Testbed::start(options("rate: 10mbit\npi:\n  count: 2\n  cpu: 0.25\n  memory: 64MiB\nfree:\n"));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  const Record record = (*testbed)->record();
  ASSERT_EQ(record.nodes.size(), 3u);
  EXPECT_TRUE(is_up(record));
  for (const Record::Node& node : record.nodes) {
    const bool is_free = node.board.name == "free";
    const BoardState state = observe(node);
    EXPECT_TRUE(state.is_running) << node.board.name;
    EXPECT_FALSE(state.is_cut);
    EXPECT_EQ(state.cpu.value_or(-1), is_free ? -1 : 0.25);
    EXPECT_EQ(state.memory_limit.value_or(-1), is_free ? -1 : MiB(64));
    EXPECT_EQ(state.rate, "10Mbit");
    const std::string log = log_of(node.board.name);
    EXPECT_NE(log.find("\n" + node.board.name + "\n"), std::string::npos) << "its host name: " << log;
    const bool is_in_group =
        log.find("/" + group_name(record.slot) + "/" + node.board.name + "\n") != std::string::npos;
    EXPECT_EQ(is_in_group, !is_free) << log;
  }
  EXPECT_NE(log_of("pi-2").find("listens on 198.18." + std::to_string(record.slot) + ".3:0"), std::string::npos);
  const std::string netns = namespace_prefix(record.slot) + "pi-1";
  const auto queue = run_tool("tc -n " + netns + " qdisc show dev eth0");
  ASSERT_TRUE(queue.ok()) << queue.error().message;
  EXPECT_NE(queue->find("tbf"), std::string::npos) << *queue;
  EXPECT_NE(queue->find("rate 10Mbit"), std::string::npos) << *queue;
  testbed->reset();
  EXPECT_TRUE(is_gone(record.slot));
  for (const Record::Node& node : record.nodes) EXPECT_NE(kill(node.pid, 0), 0) << "neither alive nor a zombie";
}

TEST_F(LimitedTestbed, TwoAtOnceDoNotMeet) {
  const TestbedOptions wanted = options("pi:\n  count: 2\n  rate: 10mbit\n  cpu: 0.1\n");
  auto first = Testbed::start(wanted);
  auto second = Testbed::start(wanted);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  const Record left = (*first)->record(), right = (*second)->record();
  EXPECT_NE(left.slot, right.slot);
  EXPECT_EQ(find_testbeds(wanted.file).size(), 2u);
  first->reset();
  EXPECT_TRUE(is_gone(left.slot));
  EXPECT_EQ(observe(right.nodes[1]).rate, "10Mbit") << "the other one stays";
}

/// `node` reaches the coordinator's address with one packet of its own.
bool reaches(const Record& record, const std::string& board) {
  const std::string target = "198.18." + std::to_string(record.slot) + ".1";
  const std::string netns = namespace_prefix(record.slot) + board;
  // a neighbour that answers is reachable; asking for it takes no program beyond ip
  (void)run_tool("ip -n " + netns + " neigh flush dev eth0").ok();
  SteadyClock clock;
  for (const Deadline deadline = clock.after(5); clock.now() < deadline; clock.sleep_until(clock.after(0.05))) {
    (void)run_tool({"ip", "netns", "exec", netns, "/bin/bash", "-c", "echo x > /dev/udp/" + target + "/9"}).ok();
    const auto neighbour = run_tool("ip -n " + netns + " neigh show " + target);
    if (neighbour.ok() && neighbour->find("lladdr") != std::string::npos) return true;
  }
  return false;
}

TEST_F(LimitedTestbed, ALinkCanBeCutAndMended) {
  const auto testbed = Testbed::start(options("pi:\n  rate: 10mbit\n"));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  const Record& record = (*testbed)->record();
  EXPECT_TRUE(reaches(record, "pi"));
  Status ended;
  {
    std::jthread cutting([&](const std::stop_token& stop) { ended = cut_link(record.nodes[0], 1000, stop); });
    SteadyClock clock;
    for (const Deadline deadline = clock.after(20); !observe(record.nodes[0]).is_cut && clock.now() < deadline;)
      clock.sleep_until(clock.after(0.01));
    EXPECT_TRUE(observe(record.nodes[0]).is_cut);
    EXPECT_FALSE(reaches(record, "pi"));
  }
  EXPECT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_FALSE(observe(record.nodes[0]).is_cut);
  EXPECT_TRUE(reaches(record, "pi"));
}

TEST_F(LimitedTestbed, DelayedLinksCarryFrames) {
  if (const std::string reason = why_no_relays(); !reason.empty()) GTEST_SKIP() << reason;
  auto testbed = Testbed::start(options("pi:\n  count: 2\n  rate: 10mbit\n  delay: 20ms\n  jitter: 2ms\nnear:\n"));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  const Record record = (*testbed)->record();
  for (const char* board : {"pi-1", "pi-2", "near"}) EXPECT_TRUE(reaches(record, board)) << board;
  testbed->reset();
  EXPECT_TRUE(is_gone(record.slot));
}

TEST_F(LimitedTestbed, ANodeThatDoesNotComeUpLeavesNothing) {
  TestbedOptions wanted = options("pi:\n  rate: 10mbit\n  cpu: 0.5\n");
  EXPECT_TRUE(write_file_atomically(wanted.program, "#!/bin/sh\necho no\n").ok());
  fs::permissions(wanted.program, fs::perms::owner_all);
  const auto before = find_network_slots();
  const auto testbed = Testbed::start(wanted);
  ASSERT_FALSE(testbed.ok());
  EXPECT_NE(testbed.error().message.find("did not come up"), std::string::npos) << testbed.error().message;
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(*find_network_slots(), *before);
  EXPECT_TRUE(find_testbeds(wanted.file).empty());
}

TEST_F(TestbedTest, WithoutLimitsRunsEverywhere) {
  auto testbed = Testbed::start(options("pi:\n  count: 2\n"));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  const Record record = (*testbed)->record();
  EXPECT_EQ(record.coordinator, "127.0.0.1:0");
  EXPECT_TRUE(observe(record.nodes[1]).is_running);
  EXPECT_EQ(cut_link(record.nodes[1], 1, {}).code(), Code::failed_precondition);
  ASSERT_EQ(find_testbeds(folder / "boards.yaml").size(), 1u);
  testbed->reset();
  EXPECT_TRUE(find_testbeds(folder / "boards.yaml").empty());
}

TEST_F(TestbedTest, TakesTheFirstBoardsOfAFile) {
  TestbedOptions wanted = options("pi:\n  count: 3\n");
  wanted.boards = 2;
  const auto testbed = Testbed::start(wanted);
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  EXPECT_EQ((*testbed)->record().nodes.size(), 2u);
  wanted.boards = 4;
  const auto refused = Testbed::start(wanted);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, wanted.file.string() + " has 3 boards, 4 are asked for");
}

}  // namespace
}  // namespace mangrove::testbed
