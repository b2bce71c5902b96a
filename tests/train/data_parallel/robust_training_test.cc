// Training with a rule as `aggregate`, while some workers lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tests/train/data_parallel/lying_worker.h"
#include "tests/train/data_parallel/paced_worker.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/keys.h"

namespace mangrove::train {
namespace {

constexpr int kRobustTrainingWorkers = 7;
constexpr std::int64_t kRobustTrainingSamples = 7 * 8 * 20;
const Lie kFlipped{.forge = [](std::span<float> floats) {
  for (float& value : floats) value *= -10;
}};
const Lie kNoNumbers{.forge = [](std::span<float> floats) { std::ranges::fill(floats, std::nanf("")); },
                     .tell = [](Answer& answer) { answer.set_loss(std::nan("")); }};

TrainJob robust_job(const std::string& aggregate, const std::string& strategy = "parameter_server") {
  TrainJob job = small_job(kRobustTrainingSamples);
  job.set_epochs(12);
  job.set_batch(16);
  job.set_strategy(strategy);
  job.set_local_steps(2);
  job.set_step_timeout_s(20);
  job.set_aggregate(aggregate);
  return job;
}

/// With liars of the last ranks.
RoleWorld::Outcome train_with_liars(const TrainJob& job, int liars, const Lie& lie) {
  RoleWorld world(kRobustTrainingWorkers + 1);
  world.use_virtual_time();
  for (int i = 0; i < liars; ++i) let_lie(world, job, kRobustTrainingWorkers - i, lie);
  return train(job, world);
}

double robust_accuracy(const RoleWorld::Outcome& outcome) {
  return outcome.leader.ok() ? json_number(outcome.result(), "accuracy") : 0;
}

struct Case {
  std::string strategy, aggregate;
  int liars;
};

class RobustTraining : public ::testing::TestWithParam<Case> {};

TEST_P(RobustTraining, LearnsWhateverSomeWorkersSend) {
  const auto& [strategy, aggregate, liars] = GetParam();
  const double honest = robust_accuracy(train_with_liars(robust_job("mean", strategy), 0, {}));
  ASSERT_GT(honest, 0.6);
  EXPECT_LT(robust_accuracy(train_with_liars(robust_job("mean", strategy), liars, kFlipped)), 0.3);
  for (const Lie& lie : {kFlipped, kNoNumbers}) {
    const TrainJob job = robust_job(aggregate, strategy);
    const RoleWorld::Outcome outcome = train_with_liars(job, liars, lie);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_EQ(json_number(outcome.result(), "samples"), job.epochs() * kRobustTrainingSamples);
    EXPECT_GT(robust_accuracy(outcome), 0.8 * honest);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RobustTraining,
    ::testing::Values(Case{"parameter_server", "median", 2}, Case{"parameter_server", "trimmed_mean(2)", 2},
                      Case{"parameter_server", "krum(2)", 2}, Case{"parameter_server", "multi_krum(2)", 2},
                      Case{"parameter_server", "geometric_median", 2}, Case{"parameter_server", "centered_clipping", 2},
                      Case{"federated", "median", 2}, Case{"federated", "multi_krum(2)", 2},
                      Case{"gossip", "median", 1}, Case{"gossip", "trimmed_mean(1)", 1}),
    [](const auto& one) {
      std::string name = one.param.strategy + "_" + one.param.aggregate;
      std::erase_if(name, [](char c) { return c == '(' || c == ')'; });
      return name;
    });

TEST(TrainingByRule, TheMeanIsWhatItIsWithoutTheKey) {
  for (const char* strategy : {"parameter_server", "federated", "gossip"}) {
    TrainJob without = robust_job("mean", strategy);
    without.clear_aggregate();
    EXPECT_EQ(trained_parameters(train(robust_job("mean", strategy), 3)), trained_parameters(train(without, 3)));
  }
}

TEST(TrainingByRule, GoesOnExactlyFromACheckpoint) {
  TrainJob job = robust_job("centered_clipping");
  job.set_epochs(1);
  job.set_checkpoint_every_s(1e-9);  // after every step
  const RoleWorld::Outcome whole = train(job, 3);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  const auto checkpoints = whole.of_kind("checkpoint");
  for (const std::size_t at : {std::size_t{0}, checkpoints.size() / 2}) {
    job.set_resume_from(checkpoints[at].attachment);
    EXPECT_EQ(trained_parameters(train(job, 3)), trained_parameters(whole)) << at;
  }
  job.set_aggregate("median");
  const Status other = train(job, 3).leader;
  EXPECT_NE(other.error().message.find("aggregate is 'centered_clipping' in the checkpoint"), std::string::npos);
}

TEST(TrainingByRule, RunningStatisticsAreThoseOfTheHonest) {
  TrainJob job = robust_job("median");
  job.set_model(encode_onnx(normalized_graph()));
  const double honest = robust_accuracy(train_with_liars(job, 0, {}));
  constexpr std::size_t kStates = 2 * 16;  // at the end: mean and variance of 16 channels
  const Lie huge{.forge = [](std::span<float> floats) {
    if (floats.size() > kStates) std::ranges::fill(floats.last(kStates), -1e30f);
  }};
  EXPECT_GT(robust_accuracy(train_with_liars(job, 2, huge)), 0.9 * honest);
  job.set_aggregate("mean");
  EXPECT_LT(robust_accuracy(train_with_liars(job, 2, huge)), 0.3);
}

TEST(TrainingByRule, ALossThatIsALieChangesNoReport) {
  for (const double lie : {1e300, -1e300, std::numeric_limits<double>::infinity()}) {
    const RoleWorld::Outcome outcome =
        train_with_liars(robust_job("median"), 2, {.tell = [=](Answer& answer) { answer.set_loss(lie); }});
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_GT(json_number(outcome.result(), "loss"), 0);
    EXPECT_LT(json_number(outcome.result(), "loss"), 3);
  }
}

TEST(TrainingByRule, OfMostWorkersNoNumbersMeanThatItDiverged) {
  const RoleWorld::Outcome outcome = train_with_liars(robust_job("median"), 4, kNoNumbers);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::out_of_range) << outcome.leader.error().message;
}

/// Whoever is lost, and when: the step is made anew, and each sample counts once.
class LostWorkerOfARule : public ::testing::TestWithParam<std::string> {};

TEST_P(LostWorkerOfARule, LeavesTheOthersItsSamples) {
  TrainJob job = robust_job("trimmed_mean(1)", GetParam());
  job.set_limit(100);
  job.set_epochs(2);
  for (int k = 0; k < 9; ++k) {
    RoleWorld world(5);
    world.use_virtual_time();
    world.die({.rank = 2, .at_send = k});
    expect_complete(train(job, world), job, GetParam() + " " + std::to_string(k));
  }
}

TEST_P(LostWorkerOfARule, TooManyOfThemAreAClearErrorAndACheckpoint) {
  TrainJob job = robust_job("median", GetParam());
  RoleWorld world(5);
  world.use_virtual_time();
  for (const net::Rank rank : {2, 3}) world.die({.rank = rank, .at_send = 3});
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::failed_precondition);
  EXPECT_NE(outcome.leader.error().message.find("aggregate"), std::string::npos) << outcome.leader.error().message;
  if (GetParam() == "gossip") return;  // nobody has the values of most workers then
  EXPECT_EQ(outcome.leader.error().message,
            "aggregate: 'median' needs the updates of 3 workers at once, and only 2 workers are left; a checkpoint was "
            "saved: resume it with more nodes");
  ASSERT_EQ(outcome.reports.back().kind, ReportKind::checkpoint);
  job.set_resume_from(outcome.reports.back().attachment);
  expect_complete(train(job, 4), job, "resumed");
}

TEST_P(LostWorkerOfARule, TooFewNodesAreRefusedBeforeTheJobBegins) {
  const RoleWorld::Outcome outcome = train(robust_job("trimmed_mean(2)", GetParam()), 4);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("'trimmed_mean(2)' needs the updates of 5 workers at once"),
            std::string::npos)
      << outcome.leader.error().message;
}

INSTANTIATE_TEST_SUITE_P(Strategies, LostWorkerOfARule, ::testing::Values("parameter_server", "federated", "gossip"),
                         [](const auto& one) { return one.param; });

TEST(TrainingByRule, ARuleGoesByTheWorkersThatAnUpdateWaitsFor) {
  TrainJob job = robust_job("trimmed_mean(2)");
  job.set_consistency("k_of_n(4)");
  EXPECT_EQ(train(job, kRobustTrainingWorkers).leader.error().message,
            "aggregate: 'trimmed_mean(2)' needs the updates of 5 workers at once, but an update has those of 4");
  job.set_consistency("k_of_n(5)");
  EXPECT_TRUE(train(job, kRobustTrainingWorkers).leader.ok());
  job = robust_job("median", "federated");
  job.set_client_fraction(0.3f);
  EXPECT_EQ(train(job, kRobustTrainingWorkers).leader.error().message,
            "aggregate: 'median' needs the updates of 3 workers at once, but an update has those of 2");
  job = robust_job("median", "gossip");
  job.set_neighbours("random");
  EXPECT_EQ(
      train(job, kRobustTrainingWorkers).leader.error().message,
      "aggregate: 'median' needs the updates of 3 workers at once, but with neighbours 'random' worker 0 has those "
      "of 2, its own among them; use graph(A-B,...) with more neighbours");
}

// A fast worker would else fill a round with its own answers.
TEST(TrainingByRule, InARoundOfTheFirstAnswersEachWorkerHasOneVote) {
  TrainJob job = robust_job("median", "federated");
  job.set_consistency("k_of_n(3)");
  job.set_epochs(1);
  RoleWorld world(6);
  world.use_virtual_time();
  std::set<std::int64_t> versions;
  int works = 0;
  set_pace(world, job, 1, [&](const Work& work) {
    versions.insert(work.version());
    ++works;
    return 1e-4;
  });
  for (const net::Rank rank : {2, 3, 4, 5}) set_pace(world, job, rank, [](const Work&) { return 0.01; });
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "k_of_n");
  EXPECT_GT(works, 5);
  EXPECT_EQ(versions.size(), static_cast<std::size_t>(works));
}

TEST(TrainingByRule, SamplesThatTooFewWorkersHaveMakeNoUpdate) {
  TrainJob job = robust_job("median", "federated");
  job.set_split("by_size(10,1,1)");
  job.set_epochs(1);
  const RoleWorld::Outcome outcome = train(job, 3);
  expect_complete(outcome, job, "by_size");
  EXPECT_TRUE(outcome.has_event(R"("event":"samples_unlearnt","epoch":1,"samples":)"));
  EXPECT_TRUE(outcome.has_event(R"("aggregate":"median")"));
}

struct RefusedRobustJob {
  std::function<void(TrainJob&)> choose;
  const char* why;
};

TEST(TrainingByRule, IsRefusedWhereNobodyCanCompare) {
  const std::vector<RefusedRobustJob> all = {
      {[](TrainJob& job) { job.set_strategy("all_reduce"); },
       "aggregate: 'median' compares the updates of workers, but with strategy 'all_reduce' nobody sees them one by "
       "one; "
       "use one of parameter_server, federated, gossip"},
      {[](TrainJob& job) { job.set_strategy("gpipe"); }, "with strategy 'gpipe' nobody sees them one by one"},
      {[](TrainJob& job) { job.set_consistency("async"); },
       "aggregate: 'median' compares the updates of workers, but with consistency 'async' each is made alone; use sync "
       "or "
       "k_of_n(K)"},
      {[](TrainJob& job) { job.set_consistency("stale(2)"); }, "with consistency 'stale(2)' each is made alone"},
      {[](TrainJob& job) { job.set_codec("top_k(0.01)"); },
       "aggregate: 'median' compares updates element by element, for which codec 'top_k' is too coarse; use fp16, "
       "bf16, "
       "int8 or none"},
      {[](TrainJob& job) { job.set_codec("two_step(0.01)"); }, "codec 'two_step' is too coarse"},
      {[](TrainJob& job) { job.set_codec("random_k(0.01)"); }, "codec 'random_k' is too coarse"},
      {[](TrainJob& job) { job.set_codec("auto"); }, "codec 'auto' may send a few elements only"},
      {[](TrainJob& job) {
         job.set_strategy("gossip");
         job.set_codec("int8");
       },
       "codec 'int8' sends differences only; use codec none"},
      {[](TrainJob& job) { job.set_aggregate("kram"); }, "aggregate: unknown rule 'kram'; did you mean 'krum'?"}};
  for (const RefusedRobustJob& refused : all) {
    TrainJob job = small_job(100);
    job.set_aggregate("median");
    refused.choose(job);
    const Status status = check_job(job);
    ASSERT_FALSE(status.ok()) << refused.why;
    EXPECT_NE(status.error().message.find(refused.why), std::string::npos) << status.error().message;
  }
  for (const char* codec : {"fp16", "bf16", "int8"}) {
    TrainJob job = small_job(100);
    job.set_aggregate("median");
    job.set_codec(codec);
    EXPECT_TRUE(check_job(job).ok()) << check_job(job).error().message;
  }
}

TEST(TrainingByRule, TheKeyIsOfTheStrategiesThatCollectVectors) {
  TrainJob job;
  Keys keys;
  add_keys(job, keys);
  for (const Strategy& row : strategies())
    EXPECT_EQ(std::ranges::count(keys.at("aggregate").strategies, row.name) > 0, row.collects_vectors) << row.name;
}

}  // namespace
}  // namespace mangrove::train
