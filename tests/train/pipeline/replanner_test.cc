#include "mangrove/train/pipeline/replanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/job/still_device.h"
#include "tests/train/paced_device.h"
#include "tests/train/pipeline/pipeline_job.h"

#include "mangrove/train/pipeline/stage_load_meter.h"
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
  work.set_busy_forward_passes(micro_batches);
  work.set_busy_backward_passes(micro_batches);
  return work;
}

constexpr std::int64_t kPassed = 17;  // samples of an iteration

void pass(PipelineReplanner& revision, const std::vector<Seconds>& busy, Seconds besides = 0) {
  std::vector<StageWork> done;
  for (const Seconds one : busy) done.push_back(worked(one));
  revision.add(done, kPassed, static_cast<double>(kPassed) * *std::ranges::max_element(busy) + besides);
}

/// Two stages of two operators each on ranks 1 and 2; rank 3 has none.
class TwoStages : public ::testing::Test {
 protected:
  const Graph graph_ = small_graph();
  const PipelineReplanner::Profiles profiles_ = {
      {1, profile({10, 10, 10, 10})}, {2, profile({10, 10, 10, 10})}, {3, profile({20, 20, 20, 20})}};
  const std::vector<HeldStage> stages_ = {{1, {0, 2}}, {2, {2, 4}}};
  PipelineReplanner replanner_{graph_, 1, stages_, 0};
};

TEST_F(TwoStages, OperatorsTakeMoreTogetherOnEveryDevice) {
  pass(replanner_, {20, 36});
  ASSERT_TRUE(replanner_.is_due());
  const auto made = replanner_.corrected(profiles_);
  expect_near(seconds_of(made.at(1)), {10, 10, 18, 18});
  expect_near(seconds_of(made.at(2)), {10, 10, 18, 18});
  expect_near(seconds_of(made.at(3)), {20, 20, 36, 36});
}

TEST_F(TwoStages, WhatAllTakeMoreSaysNothing) {
  pass(replanner_, {30, 30});
  const auto made = replanner_.corrected(profiles_);
  for (const auto& [rank, before] : profiles_) expect_near(seconds_of(made.at(rank)), seconds_of(before));
}

TEST_F(TwoStages, ADeviceThatGetsFarSlowerIsSoWithAllOperators) {
  pass(replanner_, {20, 24});
  (void)replanner_.corrected(profiles_);
  pass(replanner_, {20, 72});
  ASSERT_TRUE(replanner_.is_due());
  const auto made = replanner_.corrected(profiles_);
  expect_near(seconds_of(made.at(1)), {10, 10, 12, 12});
  expect_near(seconds_of(made.at(2)), {30, 30, 36, 36});
  expect_near(seconds_of(made.at(3)), {20, 20, 24, 24});
}

TEST_F(TwoStages, ReplicasAreBesideEachOther) {
  PipelineReplanner revision(graph_, 1, {{1, {0, 2}}, {2, {2, 4}}, {3, {2, 4}}}, 0);
  pass(revision, {20, 24, 48});
  const auto made = revision.corrected(profiles_);
  const double usual = 1.2;  // of the three
  expect_near(seconds_of(made.at(1)), {10 / usual, 10 / usual, 10, 10});
  expect_near(seconds_of(made.at(3)), {20 / usual, 20 / usual, 20, 20});
  EXPECT_NEAR(revision.speedup(made, stages_), 20 / usual / 20, 1e-3) << "one of 20 s in place of 20 and 40 s";
}

TEST_F(TwoStages, AReplicaWithoutWorkSaysNothing) {
  PipelineReplanner revision(graph_, 1, {{1, {0, 2}}, {2, {2, 4}}, {3, {2, 4}}}, 0);
  const std::vector<StageWork> done = {worked(20), worked(24), StageWork()};
  revision.add(done, kPassed, 1);
  ASSERT_TRUE(revision.is_due());
  expect_near(seconds_of(revision.corrected(profiles_).at(3)), {20, 20, 24, 24});
}

TEST_F(TwoStages, WhatIsComputedTwiceIsExpectedToTakeLonger) {
  std::vector<StageWork> done = {worked(20), worked(20.0 * 4 / 3)};
  done[1].set_recomputes(true);
  replanner_.add(done, kPassed, 1);
  expect_near(seconds_of(replanner_.corrected(profiles_).at(2)), {10, 10, 10, 10});
}

TEST_F(TwoStages, PassesAreCountedByThemselves) {
  std::vector<StageWork> done = {worked(20), worked(20)};
  done[0].set_busy_forward_passes(10);
  done[0].set_busy_s(10 * 20.0 / 3 + 16 * 40.0 / 3);
  replanner_.add(done, kPassed, 1);
  expect_near(seconds_of(replanner_.corrected(profiles_).at(1)), {10, 10, 10, 10});
}

TEST_F(TwoStages, AnotherCutIsWorthWhatItGainsLessItsPrice) {
  pass(replanner_, {20, 30}, 100);  // 30 s a sample, and 100 s besides
  (void)replanner_.corrected(profiles_);
  EXPECT_FALSE(replanner_.pays(1.25, 16)) << "96 s";
  EXPECT_TRUE(replanner_.pays(1.25, 17)) << "102 s";
  EXPECT_FALSE(replanner_.pays(PipelineReplanner::kRule.speedup - 0.01, 1'000'000)) << "may be noise";
  EXPECT_FALSE(replanner_.pays(1, 1'000'000));
  pass(replanner_, {200, 300});
  (void)replanner_.corrected(profiles_);
  EXPECT_TRUE(replanner_.pays(1.25, 2)) << "it has become ten times as slow: 120 s";
}

TEST_F(TwoStages, LooksMoreSeldomAsTheRunGoesOn) {
  const auto looks = [&](int revisions) {
    std::vector<int> iterations;
    PipelineReplanner revision(graph_, 1, stages_, revisions);
    for (int iteration = 1; iteration <= 70; ++iteration) {
      pass(revision, {20, 20});
      if (!revision.is_due()) continue;
      (void)revision.corrected(profiles_);
      iterations.push_back(iteration);
    }
    return iterations;
  };
  EXPECT_EQ(looks(0), (std::vector<int>{1, 2, 4, 8, 16, 32, 48, 64}));
  EXPECT_EQ(looks(2), (std::vector<int>{4, 8, 16, 32, 48, 64}));
  EXPECT_EQ(looks(5), (std::vector<int>{32, 48, 64}));
  EXPECT_EQ(looks(100), std::vector<int>());
}

TEST_F(TwoStages, WaitsForEnoughMicroBatchesAndIgnoresNonsense) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<StageWork> all = {worked(kNaN),    worked(-1),           worked(0), worked(1e300), worked(20, 15),
                                worked(20, -16), worked(20, 1'000'000)};
  all.push_back(worked(20));
  all.back().set_forward_passes(3);
  for (const StageWork& nonsense : all) {
    PipelineReplanner revision(graph_, 1, stages_, 0);
    const std::vector<StageWork> done = {worked(20), nonsense};
    revision.add(done, kPassed, 340);
    EXPECT_FALSE(revision.is_due()) << nonsense.DebugString();
  }
  const std::vector<StageWork> far_off = {worked(20), worked(6e4)};
  replanner_.add(far_off, kPassed, 1);
  expect_near(seconds_of(replanner_.corrected(profiles_).at(3)), {20, 20, 2000, 2000});
}

/// Costly operators that were taken for cheap: every look tells more of them, and then there is nothing to gain.
TEST_F(TwoStages, ComesToTheBestCutAndStaysThere) {
  const Seconds4 real = {26, 20, 10, 10};
  PipelineReplanner::Profiles known = {{1, profile({10, 10, 10, 10})}, {2, profile({10, 10, 10, 10})}};
  std::vector<HeldStage> stages = stages_;
  int cuts = 0;
  for (int look = 0; look < 10; ++look) {
    PipelineReplanner revision(graph_, 1, stages, 0);
    const auto busy = [&](const StageRange& range) {
      return std::accumulate(real.begin() + static_cast<std::ptrdiff_t>(range.first),
                             real.begin() + static_cast<std::ptrdiff_t>(range.last), 0.0);
    };
    pass(revision, {busy(stages[0].range), busy(stages[1].range)});
    const auto made = revision.corrected(known);
    const std::vector<StageDevice> devices = {{1, made.at(1)}, {2, made.at(2)}};
    const auto planned = plan_pipeline(graph_, devices, {.micro_batch = 1, .devices = {.least = 2, .most = 2}}).value();
    if (!revision.pays(revision.speedup(made, held(planned)), 1'000'000)) continue;
    stages = held(planned);
    known = made;
    ++cuts;
  }
  EXPECT_EQ(cuts, 1);
  EXPECT_EQ(stages[0].range, (StageRange{0, 1})) << "26 and 40, not 46 and 20";
}

/// A micro-batch's passes through a stage.
void pass(StageLoadMeter& meter, Seconds forward, Seconds backward) {
  meter.add_forward(forward);
  meter.add_backward(backward);
}

TEST(StageLoadMeter, LeavesOutTheFirstMicroBatchOfANewStage) {
  RoleWorld world(1);
  const RoleWorld::Outcome outcome = world.run([](job::RoleContext& context) -> Status {
    job::StillDevice device;  // what other threads of this process compute does not count
    StageLoadMeter meter({context.endpoint, context.clock, device, {}, 1, {}, {}});
    meter.begin_stage();
    for (int iteration = 0; iteration < 2; ++iteration) {
      StageWork done;
      meter.begin_iteration();
      meter.add_forward(iteration == 0 ? 50 : 1);  // two are under way
      pass(meter, iteration == 0 ? 50 : 1, iteration == 0 ? 200 : 2);
      pass(meter, 1, 2);
      meter.add_backward(2);
      meter.add_update(0.5);
      meter.tell(done);
      EXPECT_EQ(done.forward_s(), iteration == 0 ? 101 : 3);
      EXPECT_EQ(done.backward_s(), iteration == 0 ? 204.5 : 6.5);
      EXPECT_EQ(done.forward_passes(), 3);
      EXPECT_EQ(done.busy_s(), iteration == 0 ? 5.5 : 9.5);
      EXPECT_EQ(done.busy_forward_passes(), iteration == 0 ? 1 : 3);
      EXPECT_EQ(done.busy_backward_passes(), iteration == 0 ? 2 : 3);
      EXPECT_FALSE(done.with_messages());
    }
    return {};
  });
  EXPECT_TRUE(outcome.leader.ok());
}

class Replanner : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Replanner, ::testing::Values("gpipe", "one_f_one_b", "pipedream"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(Replanner, ANodeThatGetsSlowerGetsASmallerStage) {
  TrainJob job = pipeline_job(GetParam(), 120);
  job.set_cut("measured");
  job.set_stages(2);
  job.set_epochs(8);
  if (job.strategy() == "pipedream") job.set_local_steps(10);  // a micro-batch each
  RoleWorld world(3);
  world.use_virtual_time();
  std::atomic<double> speed = 8e6;  // of rank 2
  for (const net::Rank rank : {1, 2}) {
    world.replace(rank, [&, rank](job::RoleContext& context) {
      PacedDevice device(context, [&, rank] { return rank == 1 ? 8e6 : speed.load(); });
      job::RoleContext slow = device.context();
      return run_training(job, slow);
    });
  }
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::epoch) speed = 1e6;
  });
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  std::int64_t step = 0;  // of the last revision
  for (const Report& report : outcome.of_kind("event"))
    if (report.json.find("expected_speedup") != std::string::npos) step = nlohmann::json::parse(report.json)["step"];
  EXPECT_GT(step, 10) << "it got slower after the first epoch, of ten updates";
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
