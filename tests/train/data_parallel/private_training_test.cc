// Training with the key `privacy`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/job/still_device.h"
#include "tests/train/training_job.h"

#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/data_parallel/privacy_budget.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/data_parallel/private_update.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {
namespace {

using nlohmann::json;
using Vector = std::vector<float>;

constexpr std::int64_t kPrivateTrainingSamples = 240;
constexpr float kRate = 0.5f;

/// Each sample is protected.
TrainJob samples_job(const std::string& privacy) {
  TrainJob job = small_job(kPrivateTrainingSamples);
  job.set_optimizer("sgd");
  job.set_learning_rate(kRate);
  job.set_batch(48);
  job.set_privacy(privacy);
  job.set_step_timeout_s(20);
  return job;
}

/// What each of three workers has is protected.
TrainJob workers_job(const std::string& privacy) {
  TrainJob job = samples_job(privacy);
  job.set_strategy("federated");
  job.set_split("by_size(1,1,2)");
  job.set_batch(16);
  job.set_local_steps(2);
  return job;
}

/// For three workers.
TrainJob private_job_of(const std::string& strategy, const std::string& privacy) {
  TrainJob job = samples_job(privacy);
  job.set_strategy(strategy);
  job.set_batch(16);
  return clips_samples(job) ? job : workers_job(privacy);
}

/// On a device whose noise is of the job's seed.
RoleWorld::Outcome train_again(
    const TrainJob& job, int workers, const std::function<void(RoleWorld&)>& prepare = [](RoleWorld&) {}) {
  job::StillDevice device;
  RoleWorld world(workers + 1);
  world.use_device(device);
  prepare(world);
  return train(job, world);
}

json private_result_of(const RoleWorld::Outcome& outcome) {
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return outcome.leader.ok() ? json::parse(outcome.result()) : json();
}

json event_of(const RoleWorld::Outcome& outcome, const std::string& name) {
  for (const Report& report : outcome.of_kind("event"))
    if (json event = json::parse(report.json); event["event"] == name) return event;
  return {};
}

double norm(const Vector& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares);
}

/// The gradient of the mean loss of these glyphs.
Vector gradient_of(const std::vector<std::uint32_t>& samples) {
  const auto glyphs = data::open_dataset("glyphs", data::Split::train, {}).value();
  const auto rows = static_cast<std::int64_t>(samples.size());
  const auto replica = learn::Replica::create(small_graph(), {.batch = rows, .backend = "portable"}).value();
  data::Loader loader(glyphs, {.batch = rows});
  loader.request(samples);
  replica->compute_gradients(loader.next().value(), 1.0f / static_cast<float>(rows));
  Vector flat(static_cast<std::size_t>(replica->parameter_elements()));
  replica->read_gradients(flat);
  return flat;
}

Vector cut_down(Vector values, double most) {
  const double factor = std::min(1.0, most / norm(values));
  for (float& value : values) value = static_cast<float>(factor * value);
  return values;
}

/// What the server makes of so many sums: they, with the noise of the job's first step, by how many are expected.
Vector update_of(const std::vector<Vector>& parts, const TrainJob& job, double deviation, double expected,
                 std::int64_t chances) {
  const job::StillDevice device;
  privacy::NoiseSource noise = noise_of_step(job, device, 0);
  for (std::int64_t i = 0; i < chances; ++i) noise.chance(1);  // who takes part is drawn first
  Vector sum(parts.front().size());
  for (const Vector& part : parts)
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += part[k];
  noise.add_normal(deviation, sum);
  for (float& value : sum) value = static_cast<float>(value / expected);
  return sum;
}

Vector moved(const Vector& update, float rate) {
  Vector values = learn::flat_parameters(small_graph());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] -= rate * update[k];
  return values;
}

TEST(PrivateSamples, AStepIsTheSumOfCutGradientsWithNoise) {
  TrainJob job = samples_job("epsilon=50,delta=1e-5,clip=0.8,noise=0.7");
  job.set_limit(40);
  job.set_batch(40);  // all samples are in the step
  std::vector<Vector> parts;
  int cut = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Vector gradient = gradient_of({i});
    if (norm(gradient) > 0.8) ++cut;
    parts.push_back(cut_down(gradient, 0.8));
  }
  ASSERT_GT(cut, 0);
  const Vector expected = moved(update_of(parts, job, 0.7 * 0.8, 40, 40), kRate);
  const RoleWorld::Outcome outcome = train_again(job, 1);
  EXPECT_EQ(private_result_of(outcome)["steps"], 1);
  EXPECT_LT(relative_difference(trained_parameters(outcome), expected), 1e-5);
}

TEST(PrivateSamples, SeveralWorkersComputeWhatOneComputes) {
  TrainJob job = samples_job("epsilon=8,delta=1e-5");
  job.set_epochs(2);
  const RoleWorld::Outcome one = train_again(job, 1);
  EXPECT_EQ(private_result_of(one)["steps"], 10);
  for (const int workers : {2, 3, 6}) {
    job.set_batch(48 / workers);
    const RoleWorld::Outcome several = train_again(job, workers);
    EXPECT_EQ(private_result_of(several)["steps"], 10);
    EXPECT_EQ(private_result_of(several)["samples"], private_result_of(one)["samples"]);
    EXPECT_EQ(private_result_of(several)["privacy"]["noise"], private_result_of(one)["privacy"]["noise"]);
    EXPECT_LT(relative_difference(trained_parameters(several), trained_parameters(one)), 1e-4) << workers;
  }
}

TEST(PrivateSamples, EachStepDrawsAnew) {
  TrainJob job = samples_job("epsilon=8,delta=1e-5");
  job.set_epochs(40);
  const json result = private_result_of(train_again(job, 1));
  EXPECT_EQ(result["steps"], 200);
  const double mean = 200.0 * 48, deviation = std::sqrt(200.0 * 240 * 0.2 * 0.8);
  EXPECT_NEAR(result["samples"].get<double>(), mean, 5 * deviation);
  EXPECT_NE(result["samples"], 40 * kPrivateTrainingSamples);
}

/// The noise of one step, whatever the samples say: they are cut down to nearly nothing.
Vector noise_of_one_step(const TrainJob& job, double deviation, double expected, const RoleWorld::Outcome& outcome) {
  Vector noise = trained_parameters(outcome);
  const Vector before = learn::flat_parameters(small_graph());
  const double rate = clips_samples(job) ? kRate : 1;
  for (std::size_t k = 0; k < noise.size(); ++k)
    noise[k] = static_cast<float>((before[k] - noise[k]) * expected / (rate * deviation));
  return noise;
}

TEST(PrivateTraining, TheNoiseHasTheDeviationThatIsTold) {
  for (const char* strategy : {"parameter_server", "federated"}) {
    for (const bool is_of_seed : {true, false}) {
      TrainJob job = private_job_of(strategy, "epsilon=1000,delta=1e-5,clip=0.05,noise=200");
      job.set_local_steps(1000);
      if (clips_samples(job)) job.set_batch(kPrivateTrainingSamples / 3);
      job.set_epochs(1);
      const RoleWorld::Outcome outcome = is_of_seed ? train_again(job, 3) : train(job, 3);
      EXPECT_EQ(private_result_of(outcome)["steps"], 1);
      EXPECT_EQ(private_result_of(outcome)["privacy"]["noise_is_of_seed"], is_of_seed);
      const double expected = clips_samples(job) ? kPrivateTrainingSamples : 3;
      const Vector noise = noise_of_one_step(job, 200 * 0.05, expected, outcome);
      double mean = 0, square = 0;
      const auto n = static_cast<double>(noise.size());
      for (const float value : noise) {
        mean += value / n;
        square += double{value} * value / n;
      }
      ASSERT_GT(n, 10000);
      EXPECT_NEAR(mean, 0, 5 / std::sqrt(n)) << strategy;
      EXPECT_NEAR(square, 1, 5 * std::sqrt(2 / n) + 0.01) << strategy;
      const RoleWorld::Outcome again = is_of_seed ? train_again(job, 3) : train(job, 3);
      EXPECT_EQ(trained_parameters(again) == trained_parameters(outcome), is_of_seed) << strategy;
    }
  }
}

TEST(PrivateWorkers, ARoundIsTheSumOfCutChangesWithNoise) {
  TrainJob job = workers_job("epsilon=100,delta=1e-5,clip=0.3,noise=0.5");
  job.set_local_epochs(1);
  job.set_batch(kPrivateTrainingSamples);  // one local step on all that a worker has
  const auto glyphs = data::open_dataset("glyphs", data::Split::train, {}).value();
  std::vector<std::int32_t> labels;
  for (std::uint32_t i = 0; i < kPrivateTrainingSamples; ++i) labels.push_back(glyphs->label(i));
  const std::vector<std::size_t> owner = owners(parse_split(job.split()).value(), labels, 3, job.seed());
  std::vector<Vector> parts;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t i = 0; i < kPrivateTrainingSamples; ++i)
      if (owner[i] == worker) own.push_back(i);
    Vector change = gradient_of(own);
    for (float& value : change) value *= kRate;
    ASSERT_GT(norm(change), 0.3);
    parts.push_back(cut_down(std::move(change), 0.3));
  }
  const Vector expected = moved(update_of(parts, job, 0.5 * 0.3, 3, 3), 1);
  const RoleWorld::Outcome outcome = train_again(job, 3);
  EXPECT_EQ(private_result_of(outcome)["steps"], 1);
  EXPECT_LT(relative_difference(trained_parameters(outcome), expected), 1e-5);
}

TEST(PrivateWorkers, TakePartAtRandom) {
  TrainJob job = workers_job("epsilon=8,delta=1e-3");
  job.set_client_fraction(0.5f);
  job.set_epochs(20);
  const json result = private_result_of(train_again(job, 3));
  EXPECT_EQ(result["steps"], 20 * 5);  // 1.5 workers of 32 samples each: 48 of 240 in a round
  EXPECT_NEAR(result["samples"].get<double>(), 100 * 48, 5 * 32 * std::sqrt(300 * 0.25));
  EXPECT_EQ(result["privacy"]["protects"], "workers");
  EXPECT_EQ(result["privacy"]["rate"], 0.5);
}

TEST(PrivateUpdate, CutsEachPartAndTakesNoNumbersForNothing) {
  const auto body = [](const Vector& values) {
    std::string bytes;
    net::append_floats(bytes, values);
    return bytes;
  };
  privacy::NoiseSource noise = privacy::NoiseSource::of_seed(1, 1);
  PrivateUpdate update(2);
  for (int round = 0; round < 2; ++round) {
    update.begin();
    update.add(body({1, 2, 77}));  // states behind them
    update.add_clipped(body({30, 40}), 0.1, 10);
    update.add_clipped(body({30, 40}), 1, 10);
    update.add_clipped(body({std::nanf(""), 0}), 1, 10);
    update.add_clipped(body({std::numeric_limits<float>::infinity(), 0}), 1, 10);
    const std::span<const float> result = update.finish(0, 4, noise);
    EXPECT_NEAR(result[0], (1 + 3 + 6) / 4.0, 1e-6);
    EXPECT_NEAR(result[1], (2 + 4 + 8) / 4.0, 1e-6);
  }
}

class Private : public ::testing::TestWithParam<std::string> {
 protected:
  TrainJob job(const std::string& privacy) const { return private_job_of(GetParam(), privacy); }
};
INSTANTIATE_TEST_SUITE_P(Strategies, Private, ::testing::Values("parameter_server", "federated"),
                         [](const auto& one) { return one.param; });

TEST_P(Private, SpendsItsBudgetInAllItsSteps) {
  TrainJob all = job("epsilon=3,delta=1e-4");
  all.set_epochs(4);
  const RoleWorld::Outcome outcome = train_again(all, 3);
  const json privacy = private_result_of(outcome)["privacy"], planned = event_of(outcome, "privacy_planned");
  EXPECT_LE(privacy["epsilon"], 3);
  EXPECT_GT(privacy["epsilon"], 2.9);
  EXPECT_EQ(privacy["delta"], 1e-4);
  EXPECT_EQ(privacy["budget"], 3);
  EXPECT_EQ(privacy["clip"], 1);
  EXPECT_EQ(planned["steps"], privacy["steps"]);
  EXPECT_EQ(planned["enough_for"], privacy["steps"]);
  EXPECT_EQ(planned["noise"], privacy["noise"]);
  EXPECT_TRUE(event_of(outcome, "budget_spent").is_null());
  const privacy::Accountant accountant(privacy["rate"], privacy["noise"]);
  EXPECT_NEAR(privacy["epsilon"], accountant.epsilon(privacy["steps"], 1e-4), 1e-9);
  double before = 0;
  const std::vector<Report> epochs = outcome.of_kind("epoch");
  ASSERT_EQ(epochs.size(), 4u);
  for (const Report& epoch : epochs) {
    const double epsilon = json::parse(epoch.json)["epsilon"];
    EXPECT_GT(epsilon, before);
    before = epsilon;
  }
  EXPECT_EQ(before, privacy["epsilon"]);
  double last = 0;
  for (const Report& report : outcome.of_kind("progress"))
    if (const json progress = json::parse(report.json); progress["phase"] == "train") last = progress["epsilon"];
  EXPECT_EQ(last, privacy["epsilon"]);
}

TEST_P(Private, StopsWhenTheBudgetIsSpent) {
  TrainJob longer = job("epsilon=6,delta=1e-4,noise=2");
  longer.set_epochs(50);
  const RoleWorld::Outcome outcome = train_again(longer, 3);
  const json result = private_result_of(outcome), stopped = event_of(outcome, "budget_spent");
  const std::int64_t steps = result["steps"];
  const privacy::Accountant accountant(result["privacy"]["rate"], 2);
  EXPECT_LE(accountant.epsilon(steps, 1e-4), 6);
  EXPECT_GT(accountant.epsilon(steps + 1, 1e-4), 6);
  EXPECT_EQ(stopped["step"], steps);
  EXPECT_GT(stopped["steps"], steps);
  EXPECT_EQ(stopped["epsilon"], result["privacy"]["epsilon"]);
  EXPECT_LT(event_of(outcome, "privacy_planned")["enough_for"], stopped["steps"]);
  EXPECT_TRUE(event_of(outcome, "stopped_early").is_null());
  EXPECT_TRUE(result["accuracy"].is_number());
}

TEST_P(Private, SoLittleNoiseThatOneStepIsTooMuchIsRefused) {
  const Status status = train_again(job("epsilon=1,delta=1e-5,noise=0.05"), 3).leader;
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("privacy: with noise 0.0500 one step costs epsilon"), std::string::npos)
      << status.error().message;
}

TEST_P(Private, GoesOnExactlyFromACheckpoint) {
  TrainJob whole_job = job("epsilon=8,delta=1e-4");
  whole_job.set_epochs(2);
  whole_job.set_checkpoint_every_s(1e-9);  // after every step
  const RoleWorld::Outcome whole = train_again(whole_job, 3);
  const auto checkpoints = whole.of_kind("checkpoint");
  ASSERT_GT(checkpoints.size(), 4u);
  for (const std::size_t at : {std::size_t{0}, checkpoints.size() / 2, checkpoints.size() - 2}) {
    TrainJob rest = whole_job;
    rest.set_resume_from(checkpoints[at].attachment);
    const RoleWorld::Outcome resumed = train_again(rest, 3);
    EXPECT_EQ(private_result_of(resumed)["privacy"], private_result_of(whole)["privacy"]) << at;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << at;
  }
}

TEST_P(Private, ARunIsStoppedBetweenItsMessagesAndGoesOn) {
  TrainJob stopped_job = job("epsilon=8,delta=1e-4");
  stopped_job.set_epochs(2);
  const RoleWorld::Outcome whole = train_again(stopped_job, 3);
  for (const int at : {6, 9, 14}) {
    const RoleWorld::Outcome stopped = train_again(stopped_job, 3, [&](RoleWorld& world) {
      world.on_send([&world, at](net::Rank from, net::Rank, int number) {
        if (from == 0 && number == at) world.stop().request_stop();
      });
    });
    ASSERT_EQ(stopped.leader.code(), Code::cancelled);
    TrainJob rest = stopped_job;
    rest.set_resume_from(stopped.last("checkpoint").attachment);
    EXPECT_EQ(trained_parameters(train_again(rest, 3)), trained_parameters(whole)) << at;
  }
}

TEST_P(Private, EndsAsPlannedWhereAWorkerIsLost) {
  TrainJob lossy = job("epsilon=8,delta=1e-4");
  const RoleWorld::Outcome whole = train_again(lossy, 3);
  for (int k = 1; k < 8; ++k) {  // once it is there: how many there are decides how large a step is
    const RoleWorld::Outcome outcome = train_again(lossy, 3, [&](RoleWorld& world) {
      world.use_virtual_time();
      world.die({.rank = 2, .at_send = k});
    });
    EXPECT_EQ(private_result_of(outcome)["steps"], private_result_of(whole)["steps"]) << k;
    EXPECT_EQ(private_result_of(outcome)["privacy"], private_result_of(whole)["privacy"]) << k;
    // the samples of a step are the same, whoever computes them
    if (clips_samples(lossy)) {
      EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(whole)), 1e-4) << k;
    }
  }
}

TEST_P(Private, WhatTheServerSendsMayBeEncoded) {
  TrainJob encoded = job("epsilon=8,delta=1e-4");
  encoded.set_downlink_codec("fp16");
  if (!clips_samples(encoded)) encoded.set_codec("int8");
  const RoleWorld::Outcome outcome = train_again(encoded, 3), plain = train_again(job("epsilon=8,delta=1e-4"), 3);
  EXPECT_EQ(private_result_of(outcome)["privacy"], private_result_of(plain)["privacy"]);
  EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(plain)), 0.05);
}

TEST_P(Private, Learns) {
  // of three workers each is a third of the sum: only noise that promises nothing lets them learn
  TrainJob learning = job("epsilon=20,delta=1e-3");
  if (!clips_samples(learning)) learning.set_privacy("epsilon=1e5,delta=1e-3");
  learning.set_limit(8 * kPrivateTrainingSamples);
  learning.set_batch(64);
  learning.set_epochs(10);
  EXPECT_GT(private_result_of(train_again(learning, 3))["accuracy"], 0.5);
}

TEST_P(Private, RefusesANetworkWithRunningStatistics) {
  TrainJob normalized = job("epsilon=8,delta=1e-4");
  normalized.set_model(encode_onnx(normalized_graph()));
  const Status status = train_again(normalized, 3).leader;
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("use a network without batch normalization"), std::string::npos);
}

TEST(PrivateWorkers, GoOnOnlyWithAsManyOfThem) {
  TrainJob job = workers_job("epsilon=8,delta=1e-4");
  job.set_split("dirichlet(10)");
  const RoleWorld::Outcome whole = train_again(job, 3);
  job.set_resume_from(whole.of_kind("checkpoint").front().attachment);
  const Status status = train_again(job, 4).leader;
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("was chosen for another number of them"), std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace mangrove::train
