// Emulated boards with real nodes in them: what a person does with `mangrove testbed` and `--testbed`.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"
#include "tests/testbed/here.h"

#include "mangrove/base/clock.h"
#include "mangrove/testbed/control.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testbed::Record;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;

constexpr Seconds kTestbedCommandLong = 240;

struct TestbedCommand : ::testing::Test {
  std::string boards(const std::string& text) const {
    EXPECT_TRUE(write_file_atomically(folder / "boards.yaml", text).ok());
    return folder / "boards.yaml";
  }
  std::unique_ptr<Process> up(const std::string& file) const {
    auto process = std::make_unique<Process>(std::vector<std::string>{program(), "testbed", "up", file});
    EXPECT_TRUE(process->wait_until([&] { return process->out().find("testbed ready on ") != std::string::npos; },
                                    kTestbedCommandLong))
        << process->err();
    return process;
  }
  static Record record_of(const std::string& file) {
    const auto records = testbed::find_testbeds(file);
    return records.empty() ? Record() : records.front();
  }
  const testbed::MachineLock lock;
  const testing::TemporaryFolder folder;
};

struct LimitedBoards : TestbedCommand {
  void SetUp() override {
    for (const std::string& reason : {testbed::why_no_groups(), testbed::why_no_links()})
      if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(LimitedBoards, TrainLeNetAndGoOnWithoutOneThatIsKilled) {
  const std::string file = boards("rate: 100mbit\nmemory: 1GB\npi:\n  count: 3\n  cpu: 0.5\n");
  Process client({program(), "train", "--testbed", file, "--model", "lenet", "--data", "glyphs", "--limit", "4000",
                  "--epochs", "2", "--json", "--run-dir", folder / "run"});
  const auto has_trained = [&] {
    const auto metrics = read_file(folder / "run/metrics.jsonl");
    return metrics.ok() && metrics->find("\"phase\":\"train\"") != std::string::npos;
  };
  ASSERT_TRUE(client.wait_until(has_trained, kTestbedCommandLong)) << client.err();
  const Record record = record_of(file);
  ASSERT_EQ(record.nodes.size(), 3u);
  EXPECT_EQ(kill(record.nodes[1].pid, SIGKILL), 0);
  ASSERT_EQ(client.wait(kTestbedCommandLong), 0) << client.err();
  const json result = json::parse(client.out());
  EXPECT_GT(result["accuracy"], 0.3);
  for (const json& node : result["nodes"])
    EXPECT_EQ(node["state"], node["name"] == "pi-2" ? "lost" : "alive") << node["name"];
  EXPECT_TRUE(testbed::is_gone(record.slot));
  EXPECT_EQ(json::parse(client.out())["samples"], 2 * 4000) << "every sample of an epoch once";
}

TEST_F(LimitedBoards, OfAKilledProgramAreRemovedByTheNext) {
  const std::string file = boards("pi:\n  count: 2\n  cpu: 0.5\n  memory: 256MB\n  rate: 100mbit\n");
  auto first = up(file);
  const Record record = record_of(file);
  ASSERT_EQ(record.nodes.size(), 2u);
  first->signal(SIGKILL);
  ASSERT_EQ(first->wait(20), 128 + SIGKILL);
  EXPECT_FALSE(testbed::is_gone(record.slot)) << "nobody was there to remove it";
  const Finished shown = run_program({program(), "testbed", "status", file, "--json"});
  EXPECT_EQ(json::parse(shown.out)["testbeds"][0]["up"], false) << shown.out;

  const std::string other = folder / "other.yaml";
  ASSERT_TRUE(write_file_atomically(other, "edge:\n  cpu: 0.5\n").ok());
  const auto second = up(other);
  EXPECT_TRUE(testbed::find_testbeds(file).empty());
  for (const Record::Node& node : record.nodes) {
    EXPECT_FALSE(testing::is_running(node.pid));
    EXPECT_FALSE(fs::exists(node.cpu)) << node.cpu;
    EXPECT_FALSE(fs::exists("/sys/class/net/" + node.port)) << node.port;
  }
  const int slot = record_of(other).slot;
  EXPECT_EQ(run_program({program(), "testbed", "down", other}).status, 0);
  EXPECT_EQ(second->wait(20), 0) << second->err();
  EXPECT_TRUE(testbed::is_gone(record.slot));
  EXPECT_TRUE(testbed::is_gone(slot));
}

TEST_F(LimitedBoards, CanBeLookedAtCutAndTakenDown) {
  const std::string file = boards("pi:\n  count: 2\n  cpu: 0.5\n  memory: 512MB\n  rate: 100mbit\n");
  const auto owner = up(file);
  const auto status = [&] { return json::parse(run_program({program(), "testbed", "status", file, "--json"}).out); };
  const json before = status()["testbeds"][0];
  ASSERT_EQ(before["boards"].size(), 2u);
  EXPECT_EQ(before["up"], true);
  const json& board = before["boards"][1];
  EXPECT_EQ(board["name"], "pi-2");
  EXPECT_EQ(board["state"], "running");
  EXPECT_EQ(board["cpu"], 0.5);
  EXPECT_NEAR(board["memory"].get<double>(), 512e6, 4096) << "in whole pages";
  EXPECT_GT(board["memory_used"], 1'000'000);
  EXPECT_EQ(board["rate"], "100Mbit");

  Process cutting({program(), "testbed", "cut", file, "pi-2", "--for", "1000s"});
  SteadyClock clock;
  for (const Deadline deadline = clock.after(30); clock.now() < deadline;)
    if (status()["testbeds"][0]["boards"][1]["state"] == "cut") break;
  EXPECT_EQ(status()["testbeds"][0]["boards"][1]["state"], "cut");
  EXPECT_EQ(status()["testbeds"][0]["boards"][0]["state"], "running");
  cutting.signal(SIGINT);
  EXPECT_EQ(cutting.wait(20), 0) << cutting.err();
  EXPECT_EQ(status()["testbeds"][0]["boards"][1]["state"], "running");

  const Finished unknown = run_program({program(), "testbed", "cut", file, "pi-22"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("no board 'pi-22'; did you mean 'pi-2'?"), std::string::npos) << unknown.err;

  const int slot = record_of(file).slot;
  const Finished down = run_program({program(), "testbed", "down", file});
  EXPECT_EQ(down.status, 0) << down.err;
  EXPECT_EQ(owner->wait(20), 0) << owner->err();
  EXPECT_TRUE(testbed::is_gone(slot));
  EXPECT_EQ(run_program({program(), "testbed", "down", file}).out, "no testbed of this file is up\n");
}

TEST_F(TestbedCommand, WithoutPermissionSaysWhatItCannotSet) {
  const std::string file = boards("pi:\n  cpu: 0.5\n  memory: 256MB\n  rate: 100mbit\n");
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(file, fs::perms::all);
  const std::vector<std::string> as_nobody = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  std::vector<std::string> words = geteuid() == 0 ? as_nobody : std::vector<std::string>();
  words.insert(words.end(), {program(), "testbed", "up", file});
  if (geteuid() == 0 &&
      run_program({as_nobody[0], as_nobody[1], as_nobody[2], as_nobody[3], program(), "--version"}).status != 0)
    GTEST_SKIP() << "the program cannot be run by another user here";
  const Finished refused = run_program(words);
  EXPECT_EQ(refused.status, 1);
  for (const char* part :
       {"CPU shares (", "memory limits (", "links (rate, delay, jitter, loss) (", "run as root", "--no-limits"})
    EXPECT_NE(refused.err.find(part), std::string::npos) << part << " in: " << refused.err;
  words.push_back("--no-limits");
  Process goes_on(words);
  ASSERT_TRUE(goes_on.wait_until([&] { return goes_on.out().find("testbed ready on 127.0.0.1:") != std::string::npos; },
                                 kTestbedCommandLong))
      << goes_on.err();
  EXPECT_NE(goes_on.err().find("memory limits"), std::string::npos) << goes_on.err();
  goes_on.signal(SIGTERM);
  EXPECT_EQ(goes_on.wait(30), 0) << goes_on.err();
}

TEST_F(TestbedCommand, RefusesWhatMakesNoSense) {
  const std::string file = boards("pi:\n  cpus: 1\n");
  const Finished unknown = run_program({program(), "testbed", "up", file});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("boards.yaml:2: unknown key 'cpus'; did you mean 'cpu'?"), std::string::npos)
      << unknown.err;
  const Finished both = run_program({program(), "train", "--testbed", file, "--coordinator", "127.0.0.1:1", "--data",
                                     "glyphs", "--run-dir", folder / "run"});
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("give --coordinator or --testbed, not both"), std::string::npos) << both.err;
  const Finished missing = run_program({program(), "testbed", "up", folder / "none.yaml"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("none.yaml"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace mangrove
