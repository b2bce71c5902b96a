#include "mangrove/cluster/local_cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/eventually.h"

namespace mangrove::cluster {
namespace {

/// A folder of this test's own.
struct LocalClusterTest : ::testing::Test {
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(::testing::TempDir()) / (std::string(info->name()) + "-" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// A shell script in the place of the mangrove program.
  fs::path program(const std::string& script) const {
    const fs::path path = folder / "program";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  LocalClusterOptions options(const std::string& script, int nodes) const {
    LocalClusterOptions made;
    made.program = program(script);
    made.nodes = local_nodes(nodes);
    made.log_folder = folder;
    return made;
  }

  fs::path folder;
};

const char* const kWellBehaved = R"(
if [ "$1" = coordinator ]; then echo "coordinator ready on 127.0.0.1:4711"; else echo "node $7 ready on 127.0.0.1:1"; fi
echo "$@" >&2
exec sleep 1000
)";

TEST_F(LocalClusterTest, StartsACoordinatorAndNodesAndEndsThem) {
  LocalClusterOptions wanted = options(kWellBehaved, 3);
  wanted.threads = 2;
  wanted.data_folder = "/some/data";
  auto cluster = LocalCluster::start(wanted);
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ((*cluster)->coordinator(), "127.0.0.1:4711");
  const std::vector<pid_t> pids = (*cluster)->node_pids();
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), 0);
  std::string log;  // which the node writes when it comes to that
  EXPECT_TRUE(eventually([&] {
    if (const Result<std::string> written = read_file(folder / "node-2.log"); written.ok()) log = *written;
    return !log.empty();
  }));
  EXPECT_EQ(log,
            "node --identity - --coordinator 127.0.0.1:4711 --listen 127.0.0.1:0 --name node-2 --threads 2 "
            "--allow-path / --data-dir /some/data\n");
  cluster->reset();
  for (const pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0) << "neither alive nor a zombie";
}

TEST_F(LocalClusterTest, RunsANodeWithinACommandAtItsHost) {
  LocalClusterOptions wanted = options(kWellBehaved, 0);
  wanted.nodes = {{.name = "pi", .host = "127.0.0.2", .within = {"/usr/bin/env", "PLACE=board"}}};
  wanted.program = program(std::string("echo place $PLACE $@ >&2\n") + kWellBehaved);
  const auto cluster = LocalCluster::start(wanted);
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  const Result<std::string> log = read_file(folder / "pi.log");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->substr(0, log->find('\n')),
            "place board node --identity - --coordinator 127.0.0.1:4711 --listen 127.0.0.2:0 --name pi --threads 1 "
            "--allow-path /");
}

TEST_F(LocalClusterTest, AnInsecureOneGivesNobodyACertificate) {
  LocalClusterOptions wanted = options(R"(
cat > "$0.input"
if [ "$1" = coordinator ]; then echo "coordinator ready on 127.0.0.1:4711"; else echo "node ready on 127.0.0.1:1"; fi
echo "$@" >&2
exec sleep 1000
)",
                                       1);
  wanted.insecure = true;
  const auto cluster = LocalCluster::start(wanted);
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ((*cluster)->credentials(), nullptr);
  for (const std::string name : {"coordinator", "node-1"}) {
    std::string log;
    EXPECT_TRUE(eventually([&] {
      if (const Result<std::string> written = read_file(folder / (name + ".log")); written.ok()) log = *written;
      return !log.empty();
    }));
    EXPECT_NE(log.find(" --insecure "), std::string::npos) << log;
    EXPECT_EQ(log.find("--identity"), std::string::npos) << log;
  }
  const Result<std::string> input = read_file(wanted.program.string() + ".input");
  ASSERT_TRUE(input.ok()) << input.error().message;
  EXPECT_EQ(*input, "");
}

TEST_F(LocalClusterTest, ANodeThatDiesBeforeTheLastHasJoinedIsNamedAtOnce) {
  const SteadyClock clock;
  const Instant start = clock.now();
  const auto cluster = LocalCluster::start(options(R"(
if [ "$1" = coordinator ]; then echo "coordinator ready on 127.0.0.1:1"; exec sleep 1000; fi
case "$*" in *node-1*) echo "node ready on 127.0.0.1:1"; kill -9 $$;; esac
sleep 0.3
echo "node ready on 127.0.0.1:2"
exec sleep 1000
)",
                                                   2));
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.code(), Code::unavailable);
  EXPECT_EQ(cluster.error().message, "the process of node-1 has died: signal 9 (Killed)");
  EXPECT_LT(clock.now() - start, 10);
}

TEST_F(LocalClusterTest, SaysWhichProcessHasDiedLater) {
  const auto cluster = LocalCluster::start(options(kWellBehaved, 2));
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_TRUE((*cluster)->deaths().empty());
  kill((*cluster)->node_pids()[1], SIGKILL);
  ASSERT_TRUE(eventually([&] { return !(*cluster)->deaths().empty(); }));
  EXPECT_EQ((*cluster)->deaths().front(), "the process of node-2 has died: signal 9 (Killed)");
}

TEST_F(LocalClusterTest, ANodeThatIsFrozenEndsToo) {
  auto cluster = LocalCluster::start(options(kWellBehaved, 1));
  ASSERT_TRUE(cluster.ok());
  const pid_t pid = (*cluster)->node_pids().front();
  kill(pid, SIGSTOP);
  cluster->reset();
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(LocalClusterTest, QuotesTheLogOfAProcessThatDoesNotComeUp) {
  const auto cluster = LocalCluster::start(options(R"(
if [ "$1" = coordinator ]; then echo "coordinator ready on 127.0.0.1:1"; exec sleep 1000; fi
for line in 1 2 3 4 5 6 7; do echo "line $line" >&2; done
echo "no such device" >&2
exit 3
)",
                                                   2));
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.code(), Code::deadline_exceeded);
  const std::string& message = cluster.error().message;
  EXPECT_NE(message.find("node-1"), std::string::npos) << message;
  EXPECT_NE(message.find("its process has died: exit status 3"), std::string::npos) << message;
  EXPECT_NE(message.find("no such device"), std::string::npos) << message;
  EXPECT_NE(message.find("line 4"), std::string::npos) << message;
  EXPECT_EQ(message.find("line 3"), std::string::npos) << "the last five lines: " << message;
}

TEST_F(LocalClusterTest, SaysWhenTheProgramIsSomethingElse) {
  const auto cluster = LocalCluster::start(options("echo hello", 1));
  ASSERT_FALSE(cluster.ok());
  EXPECT_NE(cluster.error().message.find("coordinator"), std::string::npos) << cluster.error().message;
  EXPECT_NE(cluster.error().message.find("hello"), std::string::npos) << cluster.error().message;
}

TEST_F(LocalClusterTest, NamesAProgramThatCannotBeStarted) {
  LocalClusterOptions wanted;
  wanted.nodes = local_nodes(1);
  wanted.program = folder / "missing";
  const auto cluster = LocalCluster::start(wanted);
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.code(), Code::not_found);
  EXPECT_NE(cluster.error().message.find(wanted.program.string()), std::string::npos);
}

TEST_F(LocalClusterTest, NeedsANode) {
  EXPECT_EQ(LocalCluster::start(options(kWellBehaved, 0)).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::cluster
