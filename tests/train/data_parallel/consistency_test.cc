#include "mangrove/train/data_parallel/consistency.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/worker_momentum.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kConsistencySamples = 60;

TEST(ParseConsistency, TakesItsFourForms) {
  EXPECT_EQ(parse_consistency("")->kind, Consistency::Kind::sync);
  EXPECT_EQ(parse_consistency("sync")->kind, Consistency::Kind::sync);
  EXPECT_EQ(parse_consistency("async")->kind, Consistency::Kind::async);
  EXPECT_EQ(parse_consistency("stale(3)")->kind, Consistency::Kind::stale);
  EXPECT_EQ(parse_consistency("stale(3)")->bound, 3);
  EXPECT_EQ(parse_consistency("k_of_n(12)")->kind, Consistency::Kind::k_of_n);
  EXPECT_EQ(parse_consistency("k_of_n(12)")->bound, 12);
}

TEST(ParseConsistency, RefusesAllElse) {
  for (const char* text : {"asynchronous", "stale", "stale()", "stale(0)", "stale(-1)", "stale(3", "stale(3)x",
                           "stale(3x)", "k_of_n(99999999999999999999)", "k_of_n( 2)", " sync"}) {
    const auto parsed = parse_consistency(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.code(), Code::invalid_argument);
    EXPECT_NE(parsed.error().message.find("'" + std::string(text) + "'"), std::string::npos) << parsed.error().message;
  }
}

TrainJob consistency_job(const std::string& consistency) {
  TrainJob job = small_job(kConsistencySamples);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  job.set_consistency(consistency);
  return job;
}

TEST(Consistency, MoreThanThereAreNodesIsAClearError) {
  const RoleWorld::Outcome outcome = train(consistency_job("k_of_n(3)"), 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.error().message, "consistency: k_of_n(3) needs at least 3 nodes, got 2");
}

TEST(Consistency, WaitingForAllWorkersIsSynchronous) {
  const auto sync = trained_parameters(train(consistency_job("sync"), 3));
  EXPECT_EQ(trained_parameters(train(consistency_job("k_of_n(3)"), 3)), sync);
}

// But for momentum, which workers out of step have each for themselves.
TEST(Consistency, OneWorkerAloneIsAlwaysSynchronous) {
  for (const char* optimizer : {"sgd", "adam"}) {
    TrainJob job = consistency_job("sync");
    job.set_optimizer(optimizer);
    job.set_learning_rate(0.01f);
    const auto sync = trained_parameters(train(job, 1));
    for (const char* consistency : {"async", "stale(1)", "k_of_n(1)"}) {
      job.set_consistency(consistency);
      EXPECT_LT(relative_difference(trained_parameters(train(job, 1)), sync), 1e-6) << optimizer << " " << consistency;
    }
  }
}

// With v = 0.5 v + g, the update is 0.5 v + g: computed by hand.
TEST(WorkerMomentum, LooksAheadByEachWorkersOwnVelocity) {
  WorkerMomentum momentum(0.5f, 2);
  const auto accelerate = [&](net::Rank rank, float gradient) {
    std::string body;
    net::append_floats(body, std::vector<float>{4 * gradient, -4 * gradient, 7});  // sums of 4 samples, and a state
    std::vector<float> update(3);
    EXPECT_TRUE(net::read_floats(momentum.accelerate(rank, body, 4), update).ok());
    EXPECT_EQ(update[1], -update[0]);
    EXPECT_EQ(update[2], 7) << "states are not accelerated";
    return update[0] / 4;
  };
  EXPECT_FLOAT_EQ(accelerate(1, 2), 3.0f);    // v = 2
  EXPECT_FLOAT_EQ(accelerate(2, 4), 6.0f);    // another worker's v = 4
  EXPECT_FLOAT_EQ(accelerate(1, 4), 6.5f);    // v = 5
  EXPECT_FLOAT_EQ(accelerate(1, 6), 10.25f);  // v = 8.5
  momentum.forget(1);
  EXPECT_FLOAT_EQ(accelerate(1, 2), 3.0f);
}

TEST(WorkerMomentum, DecayAndClippingGrowAsAVelocityMakesThem) {
  learn::OptimizerOptions options;
  options.name = "nesterov";
  options.momentum = 0.9f;
  options.weight_decay = 0.01f;
  options.clip_norm = 2;
  const learn::OptimizerOptions plain = without_momentum(options);
  EXPECT_EQ(plain.name, "sgd");
  EXPECT_NEAR(plain.weight_decay, 0.1f, 1e-6);
  EXPECT_NEAR(plain.clip_norm, 20, 1e-4);
  options.name = "adam";
  EXPECT_EQ(without_momentum(options).name, "adam");
  EXPECT_EQ(without_momentum(options).weight_decay, 0.01f);
}

TEST(Consistency, StalenessOfEveryUpdateIsReported) {
  const RoleWorld::Outcome outcome = train(consistency_job("async"), 3);
  expect_complete(outcome, consistency_job("sync"), "async");
  const std::string result = outcome.result();
  std::size_t at = result.find("\"staleness\":[");
  ASSERT_NE(at, std::string::npos) << result;
  double updates = 0;
  for (at += 12; result[at] != ']'; at = result.find_first_of(",]", at + 1)) {
    updates += std::strtod(result.c_str() + at + 1, nullptr);
  }
  EXPECT_EQ(updates, json_number(result, "steps"));
}

/// Until another thread has done its part; a test that waits in vain is killed by its time limit.
void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

// The first worker goes through half an epoch before the second one has answered once.
TEST(Asynchronous, NobodyWaitsForTheSlowest) {
  RoleWorld world(3);
  std::atomic<int> given = 0;
  world.replace(1, idle_worker(kConsistencySamples, [&](const Work& work) {
                  if (work.kind() == Work::TRAIN) ++given;
                  return true;
                }));
  world.replace(2, idle_worker(kConsistencySamples, [&](const Work&) {
                  wait_until([&] { return given >= 4; });
                  return true;
                }));
  expect_complete(train(consistency_job("async"), world), consistency_job("async"), "async");
}

TEST(BoundedStaleness, StopsThoseThatAreAhead) {
  constexpr int kBound = 2;
  RoleWorld world(3);
  std::atomic<int> given = 0, answered = 0;
  world.replace(1, idle_worker(kConsistencySamples, [&](const Work& work) {
                  if (work.kind() != Work::TRAIN || work.epoch() > 0) return true;
                  EXPECT_LE(++given, answered + kBound);
                  return true;
                }));
  world.replace(2, idle_worker(kConsistencySamples, [&](const Work& work) {
                  if (work.kind() != Work::TRAIN || work.epoch() > 0) return true;
                  wait_until([&] { return given >= std::min(answered + kBound, 4); });
                  ++answered;
                  return true;
                }));
  expect_complete(train(consistency_job("stale(" + std::to_string(kBound) + ")"), world),
                  consistency_job("stale(" + std::to_string(kBound) + ")"), "stale");
  EXPECT_GE(answered, 2);
}

// A worker that is ahead holds nothing while it waits: when it is lost then, its samples are not lost with it.
TEST(BoundedStaleness, GoesOnWithoutAWorkerThatWaited) {
  RoleWorld world(3);
  std::atomic<int> answered = 0;
  world.replace(1, idle_worker(kConsistencySamples, [&](const Work& work) {
                  if (work.kind() == Work::TRAIN && work.epoch() == 0) ++answered;
                  return true;
                }));
  world.replace(2, idle_worker(kConsistencySamples, [&](const Work& work) {
                  wait_until([&] { return answered >= 2; });  // then it is ahead by as much as it may be
                  if (work.kind() == Work::TRAIN) world.world().kill(1);
                  return true;
                }));
  const RoleWorld::Outcome outcome = train(consistency_job("stale(2)"), world);
  expect_complete(outcome, consistency_job("sync"), "stale");
  EXPECT_EQ(json_number(outcome.result(), "workers"), 1);
}

TEST(BackupWorkers, AStepIsMadeWithoutTheSlowest) {
  RoleWorld world(4);
  world.replace(3, idle_worker(kConsistencySamples, [](const Work&) { return false; }));
  const RoleWorld::Outcome outcome = train(consistency_job("k_of_n(2)"), world);
  expect_complete(outcome, consistency_job("sync"), "k_of_n");
  EXPECT_FALSE(outcome.has_event("silent")) << "nobody waited for it";
}

class Consistencies : public ::testing::TestWithParam<const char*> {};

TEST_P(Consistencies, AStoppedRunGoesOnFromItsCheckpoint) {
  RoleWorld world(4);
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::progress) world.stop().request_stop();
  });
  TrainJob job = consistency_job(GetParam());
  job.set_limit(1000);
  job.set_epochs(3);
  const RoleWorld::Outcome stopped = train(job, world);
  ASSERT_EQ(stopped.leader.code(), Code::cancelled);
  job.set_resume_from(stopped.last("checkpoint").attachment);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "samples"), 3000);
}

TEST_P(Consistencies, LearnAsWellAsInStep) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = consistency_job(GetParam());
  job.set_limit(1000);
  job.set_epochs(12);
  job.set_learning_rate(0.05f);
  const double accuracy = json_number(train(job, 4).result(), "accuracy");
  job.set_consistency("sync");
  const double in_step = json_number(train(job, 4).result(), "accuracy");
  EXPECT_GT(in_step, 0.7);
  EXPECT_GT(accuracy, in_step - 0.03);
}

INSTANTIATE_TEST_SUITE_P(Server, Consistencies, ::testing::Values("async", "stale(2)", "k_of_n(2)"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('('));
                         });

}  // namespace
}  // namespace mangrove::train
