#include "mangrove/train/pipeline_revision.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/train/pipeline_job.h"

#include "mangrove/train/stage_load_meter.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

using Seconds4 = std::vector<double>;

/// Of the four operators of small_graph(), which cost nothing to pack for: a third of it forward.
StageProfile profile(const Seconds4& seconds) {
  StageProfile made;
  for (const double one : seconds) {
    made.add_forward_s(one / 3);
    made.add_backward_s(one * 2 / 3);
    made.add_activations(0);
  }
  return made;
}

Seconds4 seconds_of(const StageProfile& profile) {
  Seconds4 seconds;
  for (int i = 0; i < profile.forward_s_size(); ++i) seconds.push_back(profile.forward_s(i) + profile.backward_s(i));
  return seconds;
}

void expect_near(const Seconds4& seconds, const Seconds4& expected) {
  ASSERT_EQ(seconds.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seconds[i], expected[i], 1e-3 * expected[i]) << i;
}

/// A device was busy so long with each of so many micro-batches, and the first was not counted.
StageWork worked(Seconds busy, std::int64_t micro_batches = 16) {
  StageWork work;
  work.set_forward_passes(micro_batches + 1);
  work.set_busy_s(busy * static_cast<double>(micro_batches));
  work.set_busy_micro_batches(micro_batches);
  return work;
}

/// Two stages of two operators each, on ranks 1 and 2.
class TwoStages : public testing::Test {
 protected:
  const Graph graph_ = small_graph();
  const PipelineRevision::Profiles profiles_ = {
      {1, profile({10, 10, 10, 10})}, {2, profile({10, 10, 10, 10})}, {3, profile({20, 20, 20, 20})}};
  PipelineRevision revision_{graph_, 1, {{1, {0, 2}}, {2, {2, 4}}}};

  void pass(Seconds first, Seconds second, std::int64_t samples = 17, Seconds besides = 0) {
    const std::vector<StageWork> done = {worked(first), worked(second)};
    revision_.add(done, samples, 17 * std::max(first, second) + besides);
  }
};

TEST_F(TwoStages, OperatorsTakeMoreTogetherOnEveryDevice) {
  pass(20, 24);
  ASSERT_TRUE(revision_.is_due());
  const auto made = revision_.corrected(profiles_);
  expect_near(seconds_of(made.at(1)), {10, 10, 12, 12});
  expect_near(seconds_of(made.at(2)), {10, 10, 12, 12});
  expect_near(seconds_of(made.at(3)), {20, 20, 24, 24});
}

TEST_F(TwoStages, ADeviceThatIsFarSlowerIsSoWithAllOperators) {
  PipelineRevision revision(graph_, 1, {{1, {0, 1}}, {2, {1, 2}}, {3, {2, 4}}});
  const std::vector<StageWork> done = {worked(10), worked(30), worked(40)};
  revision.add(done, 1, 1);
  ASSERT_TRUE(revision.is_due());
  const auto made = revision.corrected(profiles_);
  expect_near(seconds_of(made.at(1)), {10, 10, 10, 10});
  expect_near(seconds_of(made.at(2)), {30, 30, 30, 30});
  expect_near(seconds_of(made.at(3)), {20, 20, 20, 20});
}

TEST_F(TwoStages, ReplicasAreBesideEachOther) {
  PipelineRevision revision(graph_, 1, {{1, {0, 2}}, {2, {2, 4}}, {3, {2, 4}}});
  const std::vector<StageWork> done = {worked(20), worked(24), worked(48)};
  revision.add(done, 1, 1);
  const auto made = revision.corrected(profiles_);
  expect_near(seconds_of(made.at(2)), {10, 10, 12, 12});
  expect_near(seconds_of(made.at(3)), {20, 20, 24, 24});
  const std::vector<HeldStage> alone = {{1, {0, 2}}, {2, {2, 4}}};  // 24 s in place of 20: the replicas had 24 and 48 s
  EXPECT_NEAR(revision.speedup(made, alone), 20.0 / 24, 1e-3);
}

TEST_F(TwoStages, AnotherCutIsWorthWhatItGainsLessItsPrice) {
  pass(20, 30, 17, 100);  // 30 s a sample, and 100 s besides
  EXPECT_FALSE(revision_.pays(1.25, 16)) << "96 s";
  EXPECT_TRUE(revision_.pays(1.25, 17)) << "102 s";
  EXPECT_FALSE(revision_.pays(PipelineRevision::kFaster - 0.01, 1'000'000)) << "may be noise";
  EXPECT_FALSE(revision_.pays(1, 1'000'000));
}

TEST_F(TwoStages, LooksMoreSeldomAsTheRunGoesOn) {
  std::vector<int> looks;
  for (int passage = 1; passage <= 70; ++passage) {
    pass(20, 20);
    if (!revision_.is_due()) continue;
    (void)revision_.corrected(profiles_);
    looks.push_back(passage);
  }
  EXPECT_EQ(looks, (std::vector<int>{1, 2, 4, 8, 16, 32, 48, 64}));
}

TEST_F(TwoStages, WaitsForEnoughMicroBatchesAndIgnoresNonsense) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  StageWork many = worked(1);
  many.set_forward_passes(3);
  for (const StageWork& nonsense : {worked(kNaN), worked(-1), worked(0), worked(20, -16), worked(20, 15), many}) {
    PipelineRevision revision(graph_, 1, {{1, {0, 2}}, {2, {2, 4}}});
    const std::vector<StageWork> done = {worked(20), nonsense};
    revision.add(done, 17, 340);
    EXPECT_FALSE(revision.is_due()) << nonsense.DebugString();
  }
}

/// A micro-batch's passes through a stage.
void pass(StageLoadMeter& meter, Seconds forward, Seconds backward) {
  meter.add_forward(forward);
  meter.add_backward(backward);
}

TEST(StageLoadMeter, LeavesOutTheFirstMicroBatchOfANewStage) {
  RoleWorld world(1);
  const RoleWorld::Outcome outcome = world.run([](net::RoleContext& context) -> Status {
    context.resident = 0;  // a simulated device: its time is the world's
    StageLoadMeter meter(context);
    meter.begin_stage();
    for (int passage = 0; passage < 2; ++passage) {
      StageWork done;
      meter.begin_passage();
      pass(meter, passage == 0 ? 100 : 1, passage == 0 ? 200 : 2);
      pass(meter, 1, 2);
      pass(meter, 1, 2);
      meter.add_update(0.5);
      meter.tell(done);
      EXPECT_EQ(done.forward_s(), passage == 0 ? 102 : 3);
      EXPECT_EQ(done.backward_s(), passage == 0 ? 204.5 : 6.5);
      EXPECT_EQ(done.forward_passes(), 3);
      EXPECT_EQ(done.busy_s(), passage == 0 ? 6.5 : 9.5);
      EXPECT_EQ(done.busy_micro_batches(), passage == 0 ? 2 : 3);
    }
    return {};
  });
  EXPECT_TRUE(outcome.leader.ok());
}

class Revision : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Revision, testing::Values("gpipe", "one_f_one_b", "pipedream"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(Revision, ANodeThatGetsSlowerGetsASmallerStage) {
  TrainJob job = pipeline_job(GetParam(), 120);
  job.set_cut("measured");
  job.set_stages(2);
  job.set_epochs(8);
  if (job.strategy() == "pipedream") job.set_local_steps(10);  // a micro-batch each
  RoleWorld world(3);
  world.use_virtual_time();
  std::atomic<double> speed = 8e6;  // of rank 2
  for (const net::Rank rank : {1, 2}) {
    world.replace(rank, [&, rank](net::RoleContext& context) {
      net::RoleContext slow = context;
      slow.resident = 0;
      slow.computing = [&](double flops) {
        constexpr net::Tag kNobodySends = 99;
        (void)context.endpoint.recv({0}, kNobodySends, context.clock.after(flops / (rank == 1 ? 8e6 : speed.load())));
      };
      return run_training(job, slow);
    });
  }
  world.on_report([&](const Report& report) {
    if (report.kind == "epoch") speed = 1e6;
  });
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.has_event("expected_speedup"));
  std::size_t of_slow = 0, of_fast = 0;
  const auto result = nlohmann::json::parse(outcome.result());
  for (const auto& stage : result["stages"])
    (stage["node"] == "rank-2" ? of_slow : of_fast) = stage["operators"].size();
  EXPECT_LT(of_slow, of_fast) << outcome.result();
  if (job.strategy() == "pipedream") return;  // which updates are late depends on the stage
  expect_equal(outcome, on_one_device(job), false, "cut anew");
}

}  // namespace
}  // namespace mangrove::train
