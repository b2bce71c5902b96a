#include "mangrove/sim/simgrid/simulate.h"

#include <gtest/gtest.h>

#include "tests/sim/simulated_job.h"

#include "mangrove/base/format.h"

namespace mangrove::sim {
namespace {

using nlohmann::json;

constexpr std::int64_t kSimulationSamples = 200;

/// What the workers compute does not depend on who is first.
bool is_in_step(const std::string& strategy) {
  for (const char* name : {"sync", "ring", "tree", "two_level", "federated"})
    if (strategy == name) return true;
  return false;
}

class EveryStrategy : public ::testing::TestWithParam<train::StrategyCase> {};

TEST_P(EveryStrategy, LearnsWhatItLearnsOverTheInProcessEndpoint) {
  const train::TrainJob job = train::job_of(GetParam(), kSimulationSamples);
  const json simulated_run = simulated(job, boards(4));
  ASSERT_EQ(simulated_run.value("status", ""), "ok") << simulated_run.value("message", "");
  RoleWorld world(5);
  world.use_virtual_time();
  const RoleWorld::Outcome real = train::train(job, world);
  train::expect_complete(real, job, "in process");
  const json expected = json::parse(real.result()), got = simulated_run["result"];
  EXPECT_EQ(got["samples"], expected["samples"]);
  EXPECT_EQ(got["workers"], 4);
  const auto parameters = simulated_run["parameters"].get<std::vector<float>>();
  if (is_in_step(GetParam().name)) {
    EXPECT_EQ(parameters, train::trained_parameters(real));
    EXPECT_EQ(got["test_loss"], expected["test_loss"]);
    EXPECT_EQ(got["accuracy"], expected["accuracy"]);
  } else {
    EXPECT_NEAR(got["accuracy"].get<double>(), expected["accuracy"].get<double>(), 0.2);  // who is first differs
  }
}

TEST_P(EveryStrategy, HappensTheSameWayTwice) {
  const train::TrainJob job = train::job_of(GetParam(), kSimulationSamples);
  World world = boards(4);
  for (Device& device : world.devices) device.line.jitter = 5e-5;
  const json first = simulated(job, world), second = simulated(job, world);
  EXPECT_GT(first.value("log", "").size(), 1000u);
  EXPECT_EQ(first, second);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, ::testing::ValuesIn(train::every_strategy()), train::name_of);

TEST(VirtualSeconds, AreWhatTheWorldSays) {
  train::TrainJob job = train::small_job(80);  // 10 steps of 8 samples on one worker
  World world = boards(1);
  world.devices[1].flops = 1e6;
  const json run = simulated(job, world);
  ASSERT_EQ(run.value("status", ""), "ok") << run.value("message", "");
  // 784 * 16 + 16 * 10 multiply-adds a sample, three passes
  const double compute = 80 * 3 * 2 * (784 * 16 + 16 * 10) / 1e6;
  // each step: values one way, the gradient the other
  const double wire = 10 * 2 * (4 * (784 * 16 + 16 + 16 * 10 + 10) * 1514.0 / 1448.0 / 12.5e6 + 2e-4);
  EXPECT_NEAR(run["result"]["train_seconds"].get<double>(), compute + wire, 0.02 * (compute + wire));
}

TEST(VirtualSeconds, CountWhatMessagesTakeInBothProcesses) {
  const train::TrainJob job = train::small_job(80);
  World world = boards(1);
  const json fast = simulated(job, world);
  for (Device& device : world.devices) device.handling = 1e6;
  const json slow = simulated(job, world);
  ASSERT_EQ(slow.value("status", ""), "ok") << slow.value("message", "");
  // each step: values and a gradient, each packed by one side and unpacked by the other
  const double handling = 10 * 4 * (4 * (784 * 16 + 16 + 16 * 10 + 10)) / 1e6;
  const double more = slow["result"]["train_seconds"].get<double>() - fast["result"]["train_seconds"].get<double>();
  EXPECT_NEAR(more, handling, 0.03 * handling);
}

TEST(VirtualMemory, IsThatOfTheBoards) {
  train::TrainJob job = train::small_job(80);
  World world = boards(2);
  EXPECT_EQ(simulated(job, world).value("status", ""), "ok") << "not limited";
  for (Device& device : world.devices) device.memory = MiB(70);  // less than a process with a connection holds
  const json refused = simulated(job, world);
  EXPECT_NE(refused.value("status", "ok"), "ok");
  EXPECT_NE(refused.value("message", "").find("within " + format_bytes(MiB(63))), std::string::npos) << refused;
  job.set_memory(GiB(100));
  const json as_asked = simulated(job, world);
  EXPECT_NE(as_asked.value("message", "").find("within " + format_bytes(MiB(70))), std::string::npos) << as_asked;
  for (Device& device : world.devices) device.memory = MiB(120);
  const json fits = simulated(job, world);
  ASSERT_EQ(fits.value("status", ""), "ok") << fits;
  ASSERT_EQ(fits["result"]["memory"].size(), 2u) << fits;
  for (const json& worker : fits["result"]["memory"])
    EXPECT_LE(worker["predicted_peak"].get<Bytes>(), MiB(120)) << worker;
}

TEST(VirtualSeconds, GiveTheJobUpAtTheLimit) {
  World world = boards(2);
  for (Device& device : world.devices) device.flops = 1e6;
  const json run = simulated(train::small_job(80), world, {}, 1);
  EXPECT_EQ(run.value("status", ""), "deadline_exceeded");
  EXPECT_EQ(run.value("message", ""), "the job was not done within 1.0 s of virtual time");
}

}  // namespace
}  // namespace mangrove::sim
