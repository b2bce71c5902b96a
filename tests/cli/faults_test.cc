// Processes that are killed, frozen, or asked to end in the middle of a job. What must hold: the job goes on without a
// lost node, a stop leaves a checkpoint, and no process is ever left behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;
using testing::text_of;

constexpr int kFaultsSamples = 15'000;  // some hundred steps: a job still runs when a member of it is lost
constexpr Seconds kFaultsLong = 120;    // a whole small job, on a machine with much else to do

/// The process that was started by `client` for this member of its embedded cluster; -1: none.
pid_t member_pid(const Process& client, const std::string& member) {
  for (const pid_t pid : testing::descendants(client.pid())) {
    const std::string line = text_of("/proc/" + std::to_string(pid) + "/cmdline");  // words end with \0
    if (line.find(std::string(1, '\0') + member + '\0') != std::string::npos) return pid;
  }
  return -1;
}

bool none_runs(const std::vector<pid_t>& pids) {
  SteadyClock clock;
  const Deadline deadline = clock.after(20);
  while (std::any_of(pids.begin(), pids.end(), testing::is_running)) {
    if (clock.now() > deadline) return false;
    clock.sleep_until(clock.after(0.02));
  }
  return true;
}

/// A job with an embedded cluster, in a run folder of its own.
struct Faults : ::testing::Test {
  std::unique_ptr<Process> start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program());
    for (const char* more : {"--data", "glyphs", "--json", "--run-dir"}) arguments.emplace_back(more);
    arguments.push_back(run_dir.string());
    return std::make_unique<Process>(arguments, std::vector<std::string>{"HOME=" + folder.path().string()});
  }
  std::unique_ptr<Process> start_training(const std::string& nodes, const std::string& epochs = "1") {
    return start(
        {"train", "--model", "lenet", "--local", nodes, "--epochs", epochs, "--limit", std::to_string(kFaultsSamples)});
  }
  /// Waits until some steps are done, and notes the processes.
  ::testing::AssertionResult is_under_way(Process& client, const std::string& sign = "\"phase\":\"train\"") {
    const auto seen = [&] { return text_of(run_dir / "metrics.jsonl").find(sign) != std::string::npos; };
    if (!client.wait_until(seen, kFaultsLong)) return ::testing::AssertionFailure() << client.err();
    members = testing::descendants(client.pid());
    return ::testing::AssertionSuccess();
  }
  static bool has_event(const json& result, const std::string& event, const std::string& node) {
    for (const json& entry : result["events"])
      if (entry.value("event", "") == event && entry.value("node", "") == node) return true;
    return false;
  }
  static std::string state_of(const json& result, const std::string& name) {
    for (const json& node : result["nodes"])
      if (node["name"] == name) return node["state"];
    return "not listed";
  }

  TemporaryFolder folder;
  fs::path run_dir = folder / "run";
  std::vector<pid_t> members;
};

TEST_F(Faults, TrainingGoesOnWithoutAKilledNode) {
  const auto client = start_training("3");
  ASSERT_TRUE(is_under_way(*client));
  ASSERT_EQ(members.size(), 4u);
  const pid_t victim = member_pid(*client, "node-2");
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  ASSERT_EQ(client->wait(kFaultsLong), 0) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(state_of(result, "node-2"), "lost");
  EXPECT_EQ(state_of(result, "node-1"), "alive");
  EXPECT_TRUE(has_event(result, "node_lost", "node-2")) << result["events"];
  EXPECT_TRUE(has_event(result, "work_reassigned", "node-2")) << result["events"];
  EXPECT_EQ(result["samples"], kFaultsSamples) << "every sample of the epoch once";
  EXPECT_GT(result["accuracy"], 0.8);
  EXPECT_TRUE(none_runs(members));
}

TEST_F(Faults, TrainingGoesOnWithoutAFrozenNode) {
  const auto client = start_training("3");
  ASSERT_TRUE(is_under_way(*client));
  const pid_t victim = member_pid(*client, "node-1");
  ASSERT_GT(victim, 0);
  kill(victim, SIGSTOP);
  ASSERT_EQ(client->wait(kFaultsLong), 0) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(state_of(result, "node-1"), "lost");
  EXPECT_TRUE(has_event(result, "node_lost", "node-1")) << result["events"];
  EXPECT_GT(result["accuracy"], 0.8);
  EXPECT_TRUE(none_runs(members)) << "the frozen one, too";
}

TEST_F(Faults, AKilledClientLeavesNoProcessBehind) {
  const auto client = start_training("2", "1000");
  ASSERT_TRUE(is_under_way(*client));
  ASSERT_EQ(members.size(), 3u);
  client->signal(SIGKILL);
  EXPECT_EQ(client->wait(20), 128 + SIGKILL);
  EXPECT_TRUE(none_runs(members));
}

TEST_F(Faults, CtrlCLeavesACheckpointAndNoProcess) {
  const auto client = start_training("2", "1000");
  ASSERT_TRUE(is_under_way(*client));
  client->signal(SIGINT);
  EXPECT_EQ(client->wait(60), 130) << client->err();
  EXPECT_TRUE(fs::exists(run_dir / "checkpoint.safetensors"));
  EXPECT_TRUE(none_runs(members));
}

TEST_F(Faults, ACoordinatorThatIsToldToEndHandsOverACheckpointToGoOnFrom) {
  const auto client = start_training("2");
  ASSERT_TRUE(is_under_way(*client));
  kill(member_pid(*client, "coordinator"), SIGTERM);
  EXPECT_EQ(client->wait(60), 1) << client->err();
  ASSERT_TRUE(fs::exists(run_dir / "checkpoint.safetensors")) << client->err();
  EXPECT_TRUE(none_runs(members));
  const Finished resumed = run_program({program(), "train", "--resume", run_dir, "--json"}, kFaultsLong);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_GT(json::parse(resumed.out)["accuracy"], 0.8);
}

TEST_F(Faults, AKilledCoordinatorIsNamedAndNoProcessStays) {
  const auto client = start_training("2", "1000");
  ASSERT_TRUE(is_under_way(*client));
  kill(member_pid(*client, "coordinator"), SIGKILL);
  EXPECT_EQ(client->wait(60), 1);
  EXPECT_NE(client->err().find("coordinator"), std::string::npos) << client->err();
  EXPECT_TRUE(none_runs(members));
}

TEST_F(Faults, ANodeThatIsToldToEndSaysGoodbye) {
  const auto client = start_training("3");
  ASSERT_TRUE(is_under_way(*client));
  kill(member_pid(*client, "node-3"), SIGTERM);
  ASSERT_EQ(client->wait(kFaultsLong), 0) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(state_of(result, "node-3"), "left");
  EXPECT_TRUE(has_event(result, "node_left", "node-3")) << result["events"];
}

TEST_F(Faults, AStageThatIsKilledIsPlannedAnewAndNoImageIsLost) {
  const auto training = start({"train", "--model", "lenet", "--local", "1", "--epochs", "1", "--limit", "2000"});
  ASSERT_EQ(training->wait(kFaultsLong), 0) << training->err();
  const fs::path model = folder / "model.onnx";
  fs::copy_file(run_dir / "model.onnx", model);
  fs::remove_all(run_dir);
  const auto client = start({"infer", "--model", model, "--stages", "2", "--local", "2", "--micro-batch", "4"});
  ASSERT_TRUE(is_under_way(*client, "\"phase\":\"pipeline\""));
  kill(member_pid(*client, "node-1"), SIGKILL);
  ASSERT_EQ(client->wait(kFaultsLong), 0) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(result["images"], 10'000);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
  EXPECT_EQ(result["agreement"], 1.0);
  EXPECT_TRUE(has_event(result, "node_lost", "node-1")) << result["events"];
  const json& events = result["events"];
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const json& event) {
    return event.value("event", "") == "replanned" && event["stages"].size() == 1 &&
           event["stages"][0].value("node", "") == "node-2";
  })) << events;
  for (const json& stage : result["stages"]) EXPECT_NE(stage["node"], "node-1");
  EXPECT_TRUE(none_runs(members));
}

TEST_F(SeparateProcesses, NodesJoinLeaveAreLostAndJoinAgain) {
  const auto a = start_node("a");
  ASSERT_EQ(ready_line(*a).rfind("node a ready on 127.0.0.1:", 0), 0u) << a->err();
  const auto b = start_node("b");
  ASSERT_NE(ready_line(*b), "") << b->err();
  EXPECT_EQ(states(), "a alive, b alive");

  b->signal(SIGSTOP);
  EXPECT_TRUE(becomes("a alive, b lost")) << states();
  b->signal(SIGCONT);
  EXPECT_TRUE(becomes("a alive, b alive")) << states();

  a->signal(SIGTERM);
  EXPECT_EQ(a->wait(20), 0) << a->err();
  EXPECT_TRUE(becomes("a left, b alive")) << states();

  b->signal(SIGKILL);
  EXPECT_TRUE(becomes("a left, b lost")) << states();

  coordinator->signal(SIGTERM);
  EXPECT_EQ(coordinator->wait(20), 0) << coordinator->err();
}

/// A coordinator that is swapped out, or whose machine is paused, for longer than the silence that it allows nodes.
struct FrozenCoordinator : SeparateProcesses {
  void expect_goes_on(std::vector<std::string> command, const std::string& sign) {
    const auto a = start_node("a"), b = start_node("b");
    for (Process* node : {a.get(), b.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
    const TemporaryFolder folder;
    command.insert(command.begin(), program());
    for (const std::string& more : {std::string("--data"), std::string("glyphs"), std::string("--coordinator"), address,
                                    std::string("--json"), std::string("--run-dir"), (folder / "run").string()})
      command.push_back(more);
    Process client(command);
    ASSERT_TRUE(client.wait_until([&] { return text_of(folder / "run/metrics.jsonl").find(sign) != std::string::npos; },
                                  kFaultsLong))
        << client.err();
    coordinator->signal(SIGSTOP);
    SteadyClock clock;
    clock.sleep_until(clock.after(8));
    coordinator->signal(SIGCONT);
    ASSERT_EQ(client.wait(kFaultsLong), 0) << client.err();
    result = json::parse(client.out());
    for (const json& event : result["events"]) EXPECT_NE(event["event"], "node_lost") << event;
    for (const json& node : result["nodes"]) EXPECT_EQ(node["state"], "alive") << node;
  }

  json result;
};

TEST_F(FrozenCoordinator, TrainsOnWithTheSameNodesWhenItWakes) {
  expect_goes_on({"train", "--model", "lenet", "--epochs", "2", "--limit", "20000"}, R"("phase":"train")");
  EXPECT_EQ(result["samples"], 40'000) << "every sample of each epoch once";
}

TEST_F(FrozenCoordinator, ClassifiesOnWithTheSameNodesWhenItWakes) {
  const TemporaryFolder folder;
  const std::string model = folder / "model.onnx";
  const Finished exported = run_program({program(), "model", "export", "lenet", "--output", model});
  ASSERT_EQ(exported.status, 0) << exported.err;
  expect_goes_on({"infer", "--model", model, "--stages", "2", "--micro-batch", "1"}, R"("phase":"pipeline")");
  EXPECT_EQ(result["images"], 10'000);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
}

TEST_F(SeparateProcesses, ANodeWhoseCoordinatorDiesGivesUpInTheEnd) {
  const Finished impatient =
      run_program({program(), "node", "--coordinator", "127.0.0.1:1", "--join-timeout", "300ms"});
  EXPECT_EQ(impatient.status, 1);
  Process node({program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0", "--rejoin-timeout", "300ms"});
  ASSERT_NE(ready_line(node), "") << node.err();
  coordinator->signal(SIGKILL);
  EXPECT_EQ(node.wait(30), 1);
  EXPECT_NE(node.err().find(address), std::string::npos) << node.err();
}

TEST_F(SeparateProcesses, AClientThatIsKilledLeavesTheClusterReady) {
  const auto node = start_node("a");
  ASSERT_NE(ready_line(*node), "") << node->err();
  const TemporaryFolder folder;
  const auto train = [&](const std::string& epochs, const std::string& run) {
    return std::vector<std::string>{program(), "train",         "--model",   "lenet",      "--data",
                                    "glyphs",  "--coordinator", address,     "--epochs",   epochs,
                                    "--limit", "2000",          "--run-dir", folder / run, "--json"};
  };
  Process client(train("1000", "first"));
  ASSERT_TRUE(client.wait_until(
      [&] { return text_of(folder / "first/metrics.jsonl").find("\"phase\":\"train\"") != std::string::npos; },
      kFaultsLong))
      << client.err();
  Process second(train("1", "second"));  // it waits for the only node
  ASSERT_TRUE(second.wait_until(
      [&] { return text_of(folder / "second/metrics.jsonl").find("\"queued\"") != std::string::npos; }, kFaultsLong))
      << second.err();
  client.signal(SIGKILL);
  EXPECT_EQ(client.wait(20), 128 + SIGKILL);
  EXPECT_EQ(second.wait(kFaultsLong), 0) << second.err();
  EXPECT_TRUE(becomes("a alive"));
}

}  // namespace
}  // namespace mangrove
