#include "mangrove/infer/pipeline/stage_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {
namespace {

using Names = std::vector<std::string>;

/// A machine of its own with a core to spare.
DeviceProfile device(net::Rank rank, const std::vector<Seconds>& seconds) {
  return {.rank = rank,
          .name = "node-" + std::to_string(rank),
          .host = "host-" + std::to_string(rank),
          .cores = 4,
          .operator_seconds = seconds};
}

/// small_graph on a device of this speed: conv+relu, pool, flatten, fc1+tanh, fc2.
DeviceProfile device_of_speed(net::Rank rank, double speed) {
  return device(rank, {0.04 / speed, 0, 0.02 / speed, 0, 0.03 / speed, 0, 0.03 / speed});
}

InferJob job_of(int stages, std::int64_t micro_batch = 1) {
  InferJob job = small_job(30, stages);
  job.set_micro_batch(micro_batch);
  return job;
}

StagePlan planned(const std::vector<DeviceProfile>& devices, const InferJob& job) {
  Result<StagePlan> plan = plan_stages(small_graph(), devices, job);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *plan : StagePlan{};
}

TEST(PlanStages, ForetellsTheMemoryOfEachProcess) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1)};
  for (DeviceProfile& one : devices) {
    one.process = 1'000'000 * one.rank;
    one.operator_weights = {400, 0, 0, 0, 9216, 0, 640};
    one.operator_memory = {40'000, 0, 20'000, 9'000, 5'000, 0, 300};
  }
  InferJob job = job_of(2);
  job.add_cuts("fc1");
  const StagePlan plan = planned(devices, job);
  const Bytes sample = 4 * 28 * 28, cut = plan.stages[0].bytes_per_image;
  const StagePlan::Replica &first = plan.stages[0].replicas[0], &second = plan.stages[1].replicas[0];
  EXPECT_EQ(first.memory, 1'000'000 * first.rank + 400 + 40'000 + 3 * sample + 2 * cut);
  EXPECT_EQ(second.memory, 1'000'000 * second.rank + 9216 + 640 + 5'000 + 2 * cut);
  const StagePlan both = planned({devices[0]}, job);  // that holds both stages
  const Bytes all = first.memory + second.memory - 1'000'000 * (first.rank + second.rank) + 1'000'000;
  EXPECT_EQ(both.stages[0].replicas[0].memory, all);
  EXPECT_EQ(both.stages[1].replicas[0].memory, all);
  EXPECT_EQ(planned({device_of_speed(1, 1)}, job).stages[0].replicas[0].memory, 0) << "nobody said it";
}

TEST(PlanStages, CutsWhereLittleCrosses) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1)};
  for (DeviceProfile& one : devices) one.rate = 1e6;
  // by time alone conv and relu would be the first stage, but their result takes 9.2 ms an image
  const StagePlan plan = planned(devices, job_of(2, 8));
  EXPECT_EQ(plan.stages[0].operators.front(), "conv");
  EXPECT_TRUE(plan.stages[0].operators.back() == "pool" || plan.stages[0].operators.back() == "flatten");
  EXPECT_EQ(plan.stages[0].bytes_per_image, 4 * 144);
  EXPECT_EQ(plan.stages[1].bytes_per_image, 0);
  EXPECT_NEAR(plan.stages[0].period(), 0.06, 1e-5);
  EXPECT_NEAR(plan.latency, 0.12 + 8 * 4 * 144 / 1e6, 1e-4);
  EXPECT_NEAR(plan.seconds(11), plan.latency + 10 * plan.period, 1e-12);
}

TEST(PlanStages, GivesUnequalDevicesWhatTheyCan) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 2)}, job_of(2));
  EXPECT_NEAR(plan.period, 0.04, 1e-5);  // 0.04 s of work on the slow one, 0.08 s on the other: as fast as can be
  for (const StagePlan::Stage& stage : plan.stages) EXPECT_NEAR(stage.period(), 0.04, 1e-5);
}

TEST(PlanStages, HasReplicasWhereSoManyStagesAreNotAskedFor) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 2), device_of_speed(3, 4)}, job_of(0));
  ASSERT_EQ(plan.stages.size(), 1u);  // the whole network on each of them: nothing has to travel
  EXPECT_EQ(plan.ranks(), (std::vector<net::Rank>{1, 2, 3}));
  for (const StagePlan::Replica& replica : plan.stages[0].replicas)
    EXPECT_NEAR(replica.busy, 0.12 / std::pow(2, replica.rank - 1), 1e-5);
  EXPECT_NEAR(plan.stages[0].period(), 0.12 / 7, 1e-5);
  EXPECT_NEAR(plan.period, 0.12 / 7, 1e-5);
  EXPECT_GE(plan.window, 8u);
}

TEST(PlanStages, HasNoReplicasWhereTheyShareTheCores) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1), device_of_speed(3, 1)};
  for (DeviceProfile& one : devices) one.host = "one machine";
  for (DeviceProfile& one : devices) one.cores = 2;
  EXPECT_NEAR(planned(devices, job_of(0)).period, 0.06, 1e-4) << "three devices, two cores";
}

TEST(PlanStages, LeavesOutADeviceThatDoesNotHelp) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 0.001), device_of_speed(3, 1)}, job_of(2));
  for (const StagePlan::Stage& stage : plan.stages) EXPECT_FALSE(stage.has(2));
}

TEST(PlanStages, UsesItAllTheSameWhereSoManyStagesAreAskedFor) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 0.001), device_of_speed(3, 1)}, job_of(3));
  ASSERT_EQ(plan.stages.size(), 3u);
  for (const StagePlan::Stage& stage : plan.stages) {
    if (stage.has(2)) {
      EXPECT_EQ(stage.operators, Names{"flatten"});  // which takes no time
    }
  }
}

TEST(PlanStages, IsNoWorseThanOneDeviceWhereAllShareACore) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1)};
  for (DeviceProfile& one : devices) {
    one.host = "one machine";
    one.cores = 1;
  }
  EXPECT_EQ(planned(devices, job_of(0)).ranks().size(), 1u);
  const StagePlan forced = planned(devices, job_of(2));
  EXPECT_NEAR(forced.period, 0.12, 1e-4);
  EXPECT_EQ(forced.limited_by, "the cores that devices share");
}

TEST(PlanStages, CountsReadingWhereNoCoreIsThereForIt) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1)};
  for (DeviceProfile& one : devices) one.read_seconds = 0.04;
  EXPECT_NEAR(planned(devices, job_of(2)).period, 0.06, 1e-4);  // beside computing
  for (DeviceProfile& one : devices) one.cores = 0.2;
  const StagePlan plan = planned(devices, job_of(2));
  EXPECT_NEAR(plan.period, 0.08, 1e-4);
  EXPECT_EQ(plan.stages[0].operators, (Names{"conv", "relu"}));
}

TEST(PlanStages, CountsMessagesWhereNoCoreIsThereForThem) {
  std::vector<DeviceProfile> devices = {device_of_speed(1, 1), device_of_speed(2, 1)};
  for (DeviceProfile& one : devices) {
    one.cores = 0.2;
    one.message_seconds = 0.01;
  }
  EXPECT_NEAR(planned(devices, job_of(2)).period, 0.08, 1e-4);
}

TEST(PlanStages, DoesNotPartAnActivationFromItsOperator) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 1), device_of_speed(3, 1),
                                  device_of_speed(4, 1), device_of_speed(5, 1)},
                                 job_of(5));
  EXPECT_EQ(plan.stages[0].operators, (Names{"conv", "relu"}));
  EXPECT_EQ(plan.stages[3].operators, (Names{"fc1", "tanh"}));
}

TEST(PlanStages, MoreStagesThanDevicesShareThem) {
  const StagePlan plan = planned({device_of_speed(1, 1), device_of_speed(2, 1)}, job_of(5));
  EXPECT_EQ(plan.stages.size(), 5u);
  EXPECT_NEAR(plan.period, 0.07, 0.011);  // 0.06 each would be best
}

TEST(PlanStages, PlansForManyDevicesThatAllDiffer) {
  std::vector<DeviceProfile> devices;
  for (int rank = 1; rank <= 40; ++rank) devices.push_back(device_of_speed(rank, 1 + 0.001 * rank));
  EXPECT_EQ(planned(devices, job_of(0)).ranks().size(), 40u);
  EXPECT_EQ(planned(devices, job_of(5)).stages.size(), 5u);
}

TEST(PlanStages, RefusesTheProfileOfAnotherGraph) {
  const std::vector<DeviceProfile> devices = {device(1, {1, 1})};
  EXPECT_EQ(plan_stages(small_graph(), devices, job_of(1)).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::infer
