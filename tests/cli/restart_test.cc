// Nodes and coordinators of a running job that vanish and come back: the job goes on, with every sample counted once.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/sanitizer.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"
#include "tests/cli/separate_processes.h"

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

constexpr Seconds kRestartLong = 200;   // a whole small job, on a machine with much else to do
constexpr int kRestartSamples = 5'000;  // a job still runs when its first checkpoint is there
constexpr int kLongSamples = 8'000;     // it still runs when a node has been lost and has come back, some seconds later

struct Restart : SeparateProcesses {
  void SetUp() override {
    MG_SKIP_IF_SANITIZED("whole jobs in real time take minutes; kept_job_test has the same under a sanitizer");
    start_secure_coordinator("127.0.0.1:0", folder / "state");
  }

  /// Small batches, so that it takes some thousand steps.
  std::unique_ptr<Process> start_training(const std::string& epochs, int samples = kRestartSamples) const {
    return std::make_unique<Process>(std::vector<std::string>{program(),
                                                              "train",
                                                              "--model",
                                                              "lenet",
                                                              "--data",
                                                              "glyphs",
                                                              "--coordinator",
                                                              address,
                                                              "--batch",
                                                              "8",
                                                              "--learning-rate",
                                                              "0.01",
                                                              "--epochs",
                                                              epochs,
                                                              "--limit",
                                                              std::to_string(samples),
                                                              "--checkpoint-every",
                                                              "300ms",
                                                              "--run-dir",
                                                              run_dir,
                                                              "--json"});
  }
  bool is_reported(Process& client, const std::string& what) const {
    return client.wait_until([&] { return text_of(run_dir / "metrics.jsonl").find(what) != std::string::npos; },
                             kRestartLong) &&
           text_of(run_dir / "metrics.jsonl").find(what) != std::string::npos;
  }
  bool has_checkpoint(Process& client) const {
    return client.wait_until([&] { return fs::exists(run_dir / "checkpoint.safetensors"); }, kRestartLong) &&
           fs::exists(run_dir / "checkpoint.safetensors");
  }
  json kept_jobs() const {
    const Finished listed = run_program({program(), "jobs", "--coordinator", address, "--json"});
    return json::parse(listed.out, nullptr, false)["jobs"];
  }

  TemporaryFolder folder;
  fs::path run_dir = folder / "run";
};

TEST_F(Restart, AFrozenNodeThatWakesUpIsReadmitted) {
  const auto a = start_node("a"), b = start_node("b"), c = start_node("c");
  for (Process* node : {a.get(), b.get(), c.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
  const auto client = start_training("2", kLongSamples);
  ASSERT_TRUE(is_reported(*client, R"("phase":"train")")) << client->err();
  b->signal(SIGSTOP);
  ASSERT_TRUE(is_reported(*client, R"("event":"node_lost")")) << client->err();
  b->signal(SIGCONT);
  ASSERT_TRUE(is_reported(*client, R"("event":"node_joined")")) << client->err();
  ASSERT_EQ(client->wait(kRestartLong), 0) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(result["samples"], 2 * kLongSamples) << "every sample of each epoch once";
  EXPECT_EQ(result["workers"], 3);
  EXPECT_GT(result["accuracy"], 0.9);
}

TEST_F(Restart, AFrozenCoordinatorIsNoticedAndFoundAgain) {
  const auto node = start_node("a");
  ASSERT_NE(ready_line(*node), "") << node->err();
  coordinator->signal(SIGSTOP);
  node->wait_until([&] { return node->err().find("coordinator silent") != std::string::npos; }, kRestartLong);
  EXPECT_NE(node->err().find("coordinator silent"), std::string::npos) << node->err();
  coordinator->signal(SIGCONT);
  const auto is_alive = [&] {
    const Finished listed = run_program({program(), "nodes", "--coordinator", address, "--json"});
    const json nodes = json::parse(listed.out, nullptr, false)["nodes"];
    return nodes.size() == 1 && nodes[0]["state"] == "alive";
  };
  node->wait_until(is_alive, kRestartLong);
  EXPECT_TRUE(is_alive()) << node->err();
}

TEST_F(Restart, AKilledCoordinatorGoesOnWithTheJobWhenItIsStartedAgain) {
  const auto a = start_node("a"), b = start_node("b");
  for (Process* node : {a.get(), b.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
  const auto client = start_training("2");
  ASSERT_TRUE(has_checkpoint(*client)) << client->err();
  coordinator->signal(SIGKILL);
  ASSERT_EQ(coordinator->wait(20), 128 + SIGKILL);
  ASSERT_TRUE(is_reported(*client, "coordinator_lost")) << client->err();
  const std::string before = address;
  start_secure_coordinator(before, folder / "state");
  ASSERT_EQ(address, before);
  ASSERT_EQ(client->wait(kRestartLong), 0) << client->err();
  EXPECT_TRUE(is_reported(*client, "coordinator_back"));
  const json result = json::parse(client->out());
  EXPECT_EQ(result["samples"], 2 * kRestartSamples);
  EXPECT_GT(result["accuracy"], 0.9);
  EXPECT_TRUE(fs::exists(run_dir / "model.onnx"));
  const json jobs = kept_jobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["state"], "done");
  EXPECT_EQ(jobs[0]["starts"], 2);
  EXPECT_TRUE(testing::is_running(a->pid()) && testing::is_running(b->pid())) << "no node was started again";
}

// A power cut: everything is gone, the client too.
TEST_F(Restart, AJobOutlivesTheWholeCluster) {
  std::string job;
  std::int64_t step = 0;
  {
    const auto a = start_node("a");
    ASSERT_NE(ready_line(*a), "") << a->err();
    const auto client = start_training("2");
    ASSERT_TRUE(has_checkpoint(*client)) << client->err();
    const json before = kept_jobs();
    ASSERT_EQ(before.size(), 1u);
    job = before[0]["id"];
    step = before[0]["step"];
    EXPECT_GT(step, 0);
    for (Process* process : {client.get(), a.get(), coordinator.get()}) process->signal(SIGKILL);
    EXPECT_EQ(coordinator->wait(20), 128 + SIGKILL);
  }
  start_secure_coordinator(address, folder / "state");
  const auto again = start_node("a");
  ASSERT_NE(ready_line(*again), "") << again->err();
  const Finished followed = run_program(
      {program(), "job", "follow", job, "--coordinator", address, "--run-dir", folder / "followed", "--json"},
      kRestartLong);
  ASSERT_EQ(followed.status, 0) << followed.err;
  EXPECT_EQ(json::parse(followed.out)["samples"], 2 * kRestartSamples);
  EXPECT_TRUE(fs::exists(folder / "followed/model.onnx"));
  // it began where the last checkpoint was, not anew
  std::istringstream metrics(text_of(folder / "followed/metrics.jsonl"));
  json line;
  for (std::string text; std::getline(metrics, text) && !line.contains("step");) line = json::parse(text);
  EXPECT_GE(line.value("step", std::int64_t{0}), step) << line;
  EXPECT_EQ(run_program({program(), "job", "follow", "job-0", "--coordinator", address}).status, 2);
}

TEST_F(Restart, AClientThatOnlyFollowsAJobNeverStopsItUnlessAskedTo) {
  const auto a = start_node("a");
  ASSERT_NE(ready_line(*a), "") << a->err();
  const auto owner = start_training("1000");
  ASSERT_TRUE(is_reported(*owner, R"("phase":"train")")) << owner->err();
  const std::string id = kept_jobs().at(0)["id"];
  ::signal(SIGHUP, SIG_DFL);  // `nohup` would have the followers ignore it
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGKILL}) {
    const fs::path followed = folder / ("followed-" + std::to_string(signal));
    Process follower({program(), "job", "follow", id, "--coordinator", address, "--run-dir", followed});
    const auto has_heard = [&] { return fs::exists(followed / "metrics.jsonl"); };
    ASSERT_TRUE(follower.wait_until(has_heard, kRestartLong) && has_heard()) << follower.err();
    follower.signal(signal);
    EXPECT_EQ(follower.wait(20), signal == SIGKILL ? 128 + SIGKILL : 130) << follower.err();
    std::string sentence = "mangrove: detached from job " + id + ", which goes on; stop it with: mangrove job stop ";
    sentence.append(id).append(" --coordinator ").append(address).append("\n");
    EXPECT_EQ(follower.err().find(sentence) != std::string::npos, signal != SIGKILL) << follower.err();
  }
  // the checkpoint of a run that is stopped is the last thing that its client hears
  const std::string before = text_of(run_dir / "metrics.jsonl");
  ASSERT_TRUE(owner->wait_until([&] { return text_of(run_dir / "metrics.jsonl").size() > before.size() + 1000; },
                                kRestartLong));
  ASSERT_GT(text_of(run_dir / "metrics.jsonl").size(), before.size() + 1000) << "the job has gone on";
  EXPECT_EQ(kept_jobs().at(0)["state"], "running");
  const Finished stopped =
      run_program({program(), "job", "stop", id, "--coordinator", address, "--json"}, kRestartLong);
  ASSERT_EQ(stopped.status, 0) << stopped.err;
  EXPECT_EQ(json::parse(stopped.out)["job"], id);
  EXPECT_EQ(owner->wait(20), 1) << "it was stopped, but not by a signal to its client";
  EXPECT_NE(owner->err().find("checkpoint saved"), std::string::npos) << owner->err();
  EXPECT_EQ(kept_jobs().at(0)["state"], "stopped");
  EXPECT_EQ(run_program({program(), "job", "stop", id, "--coordinator", address}).status, 1) << "once is enough";
  EXPECT_EQ(run_program({program(), "job", "stop", "job-0", "--coordinator", address}).status, 2);
}

TEST_F(Restart, ADamagedStateIsAClearError) {
  coordinator->signal(SIGTERM);
  ASSERT_EQ(coordinator->wait(20), 0);
  const fs::path database = folder / "state/coordinator.db";
  ASSERT_TRUE(write_file_atomically(database, std::string(5000, 'x')).ok());
  const Finished refused =
      run_program({program(), "coordinator", "--listen", "127.0.0.1:0", "--state", folder / "state"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find(database.string()), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("damaged"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace mangrove
