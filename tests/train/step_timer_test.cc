#include "mangrove/train/step_timer.h"

#include <gtest/gtest.h>

#include "tests/base/hand_clock.h"
#include "tests/train/training_job.h"

#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

using Phase = StepTimer::Phase;

/// A timer whose time passes when a test says so.
struct TimedWorker : ::testing::Test {
  void pass(Seconds seconds) { clock.pass(seconds); }
  static Work work_held(Seconds held) {
    Work work;
    work.set_held_s(held);
    return work;
  }
  /// A step of 1 s decoding, 0.25 s loading, 2 s computing, 0.5 s encoding.
  void play_step(const Work& work) {
    timer.take(work);
    pass(1);
    timer.enter(Phase::load);
    pass(0.25);
    timer.enter(Phase::compute);
    pass(2);
    timer.enter(Phase::encode);
    EXPECT_DOUBLE_EQ(timer.computed(), 2.25);
    pass(0.5);
    timer.end_step();
  }

  net::InProcessWorld world{1};
  testing::HandClock clock;
  job::Machine device;
  std::vector<job::StepTimes> steps;
  job::RoleContext context{.endpoint = world.endpoint(0),
                           .clock = clock,
                           .device = device,
                           .data_folder = {},
                           .threads = 1,
                           .stop = {},
                           .report = {},
                           .step_done = [this](const job::StepTimes& step) { steps.push_back(step); }};
  StepTimer timer{context};
};

TEST_F(TimedWorker, DividesAStepIntoItsPhases) {
  const Instant begin = clock.now();
  pass(5);
  play_step(Work());
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].ended, begin + 8.75);
  EXPECT_DOUBLE_EQ(steps[0].wait, 5) << "the server did not say that it held anything: all is waiting";
  EXPECT_DOUBLE_EQ(steps[0].wire, 0);
  EXPECT_DOUBLE_EQ(steps[0].encode, 1.5);
  EXPECT_DOUBLE_EQ(steps[0].load, 0.25);
  EXPECT_DOUBLE_EQ(steps[0].compute, 2);
}

TEST_F(TimedWorker, WhatTheServerDidNotHoldTheWireTook) {
  play_step(Work());
  pass(4);
  play_step(work_held(3));
  pass(1);
  play_step(work_held(7));  // a clock that goes wrong
  pass(1);
  play_step(work_held(-7));
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_DOUBLE_EQ(steps[1].wait, 3);
  EXPECT_DOUBLE_EQ(steps[1].wire, 1);
  EXPECT_DOUBLE_EQ(steps[2].wait, 1);
  EXPECT_DOUBLE_EQ(steps[2].wire, 0);
  EXPECT_DOUBLE_EQ(steps[3].wait, 0);
  EXPECT_DOUBLE_EQ(steps[3].wire, 1);
}

TEST_F(TimedWorker, AWaitForAPeerIsNotTheWires) {
  timer.take(Work());
  timer.enter(Phase::wire);
  pass(3);
  timer.enter(Phase::encode);
  timer.waited_on_wire(2);
  timer.end_step();
  EXPECT_DOUBLE_EQ(steps.at(0).wire, 1);
  EXPECT_DOUBLE_EQ(steps.at(0).wait, 2);
}

TEST_F(TimedWorker, WhatWasNoStepIsForgotten) {
  timer.take(Work());
  pass(10);  // an evaluation
  play_step(work_held(1));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_DOUBLE_EQ(steps[0].wait, 0);
  EXPECT_DOUBLE_EQ(steps[0].wire, 0);
  EXPECT_DOUBLE_EQ(steps[0].encode, 1.5);
}

/// The steps that each worker of a real training tells of.
std::vector<std::vector<job::StepTimes>> steps_of(const TrainJob& job, int workers) {
  std::vector<std::vector<job::StepTimes>> steps(static_cast<std::size_t>(workers));
  RoleWorld world(workers + 1);
  for (int rank = 1; rank <= workers; ++rank) {
    world.replace(rank, [&, rank](job::RoleContext& context) {
      context.step_done = [&, rank](const job::StepTimes& step) {
        steps[static_cast<std::size_t>(rank - 1)].push_back(step);
      };
      return run_training(job, context);
    });
  }
  const RoleWorld::Outcome outcome = train(job, world);
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return steps;
}

TEST(StepTimes, AreToldOnceAStep) {
  for (const char* strategy : {"parameter_server", "all_reduce"}) {
    TrainJob job = small_job(2 * 8 * 10);  // 10 steps of two workers
    job.set_strategy(strategy);
    for (const auto& steps : steps_of(job, 2)) {
      ASSERT_EQ(steps.size(), 10u) << strategy << ": evaluation is no step";
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const job::StepTimes& step = steps[i];
        EXPECT_GT(step.load, 0) << strategy;
        EXPECT_GT(step.compute, 0) << strategy;
        EXPECT_GT(step.encode, 0) << strategy;
        EXPECT_GE(step.wire, 0) << strategy;
        EXPECT_GE(step.wait, 0) << strategy;
        if (i == 0) continue;
        const Seconds all = step.load + step.compute + step.encode + step.wire + step.wait;
        EXPECT_NEAR(all, step.ended - steps[i - 1].ended, 1e-6) << "of a step no time is missing";
      }
    }
  }
}

}  // namespace
}  // namespace mangrove::train
