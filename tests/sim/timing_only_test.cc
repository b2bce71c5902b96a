#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/sanitizer.h"
#include "tests/infer/tiers/split_job.h"
#include "tests/infer/views/views_job.h"
#include "tests/sim/simulated_inference.h"
#include "tests/sim/simulated_job.h"

#include "mangrove/base/process_memory.h"
#include "mangrove/sim/simgrid/simulate.h"

namespace mangrove::sim {
namespace {

using nlohmann::json;

struct Case {
  std::string name;
  void (*choose)(train::TrainJob& job);
  double most_apart;  // of the seconds, relative
};

/// Where wire and computing take about as long.
World four_slow_boards() {
  World world = boards(4);
  for (Device& device : world.devices) {
    device.flops = 1e7;
    device.up = device.down = 250e3;
    device.line = {.delay = 0.005};
  }
  return world;
}

class Modelled : public ::testing::TestWithParam<Case> {};

TEST_P(Modelled, TakesAsLongAsTheRealComputation) {
  train::TrainJob job = train::small_job(320);
  job.set_epochs(2);
  GetParam().choose(job);
  const json real = simulated(job, four_slow_boards()), modelled = simulated(job, four_slow_boards(), {}, 0, true);
  ASSERT_EQ(real.value("status", ""), "ok") << real.value("message", "");
  ASSERT_EQ(modelled.value("status", ""), "ok") << modelled.value("message", "");
  const json& expected = real["result"];
  const json& got = modelled["result"];
  for (const char* key : {"samples", "steps", "epochs", "workers"}) EXPECT_EQ(got[key], expected[key]) << key;
  for (const char* key : {"train_seconds", "eval_seconds"}) {
    const auto seconds = expected[key].get<double>();
    EXPECT_NEAR(got[key].get<double>(), seconds, GetParam().most_apart * seconds) << key;
  }
  EXPECT_EQ(got["compute"], "modelled");
  for (const char* key : {"accuracy", "test_loss", "loss", "confusion", "exchange"})
    EXPECT_FALSE(got.contains(key)) << key;
  EXPECT_FALSE(modelled.contains("parameters")) << "there is no model";
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, Modelled,
    ::testing::Values(Case{"server", [](train::TrainJob&) {}, 0.005},
                      Case{"server_with_codecs",
                           [](train::TrainJob& job) {
                             job.set_codec("two_step(0.05)");
                             job.set_downlink_codec("int8");
                           },
                           0.05},  // the first message has nothing to send, and is modelled like others
                      Case{"asynchronous", [](train::TrainJob& job) { job.set_consistency("async"); }, 0.01},
                      Case{"all_reduce", [](train::TrainJob& job) { job.set_strategy("all_reduce"); }, 0.02},
                      Case{"federated",
                           [](train::TrainJob& job) {
                             job.set_strategy("federated");
                             job.set_local_steps(4);
                           },
                           0.005},
                      Case{"federated_with_codecs",
                           [](train::TrainJob& job) {
                             job.set_strategy("federated");
                             job.set_local_steps(4);
                             job.set_codec("two_step(0.1)");
                             job.set_downlink_codec("two_step(0.1)");
                           },
                           0.05},
                      Case{"gossip",
                           [](train::TrainJob& job) {
                             job.set_strategy("gossip");
                             job.set_local_steps(4);
                           },
                           0.005}),
    [](const auto& tested) { return tested.param.name; });

TEST(ModelledJob, NamesWhatItCannotModel) {
  const auto message_of = [](void (*choose)(train::TrainJob&)) {
    train::TrainJob job = train::small_job(80);
    choose(job);
    return simulated(job, boards(2), {}, 0, true).value("message", "");
  };
  EXPECT_NE(message_of([](train::TrainJob& job) { job.set_patience(2); }).find("patience: goes by"), std::string::npos);
  EXPECT_NE(message_of([](train::TrainJob& job) {
              job.set_strategy("federated");
              job.set_secure_aggregation(true);
            }).find("secure_aggregation: the messages of a sum cannot be modelled yet"),
            std::string::npos);
  EXPECT_NE(message_of([](train::TrainJob& job) { job.set_codec("auto"); }).find("codec 'auto': goes by"),
            std::string::npos);
  EXPECT_NE(message_of([](train::TrainJob& job) {
              job.set_codec("top_k(0.01)");
              job.set_codec_warmup(4);
            }).find("codec_warmup: goes by"),
            std::string::npos);
}

struct InferenceJob {
  std::string name;
  infer::InferJob (*job)();
  std::vector<std::string> devices;
};

infer::InferJob of_strategy(const char* strategy) {
  infer::InferJob job = infer::small_job(infer::kSamples, std::string_view(strategy) == "pipeline" ? 3 : 0);
  job.set_strategy(strategy);
  return job;
}

class ModelledInference : public ::testing::TestWithParam<InferenceJob> {};

TEST_P(ModelledInference, TakesAsLongAsTheRealComputation) {
  infer::InferJob job = GetParam().job();
  job.set_answer_timeout_s(4);
  const World world = slow_world(GetParam().devices);
  const SimulatedInference real = simulated(job, world), modelled = simulated(job, world, {}, true);
  ASSERT_TRUE(real.outcome.leader.ok()) << real.outcome.leader.error().message;
  ASSERT_TRUE(modelled.outcome.leader.ok()) << modelled.outcome.leader.error().message;
  const json expected = json::parse(real.outcome.result()), got = json::parse(modelled.outcome.result());
  EXPECT_EQ(got["images"], expected["images"]);
  EXPECT_NEAR(got["seconds"].get<double>(), expected["seconds"].get<double>(),
              1e-3 * expected["seconds"].get<double>());
  EXPECT_NEAR(modelled.seconds, real.seconds, 1e-3 * real.seconds) << "of the whole job";
  EXPECT_EQ(got["compute"], "modelled");
  for (const char* key : {"accuracy", "macro_f1", "coarse_accuracy", "agreement", "claims"})
    EXPECT_FALSE(got.contains(key)) << key;
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, ModelledInference,
    ::testing::Values(
        InferenceJob{"single", [] { return of_strategy("single"); }, {"a", "b"}},
        InferenceJob{"pipeline", [] { return of_strategy("pipeline"); }, {"a", "b", "c"}},
        InferenceJob{"averaging",
                     [] {
                       const std::string all = infer::ensemble_member(infer::kAllGlyphs);
                       return infer::ensemble_job("averaging", infer::kSamples, {all, all});
                     },
                     {"a", "b"}},
        InferenceJob{"tiers", [] { return infer::split_job("split@pool,levels=16"); }, {"end-1", "cloud-1"}},
        InferenceJob{"views", [] { return infer::views_job(infer::ddnn(), {}); }, {"a", "b", "c", "d", "upper"}}),
    [](const auto& tested) { return tested.param.name; });

TEST(ModelledInferenceJob, RefusesExitsThatDependOnWhatIsComputed) {
  const Graph graph = infer::ddnn();
  const infer::InferJob job = infer::views_job(graph, infer::middle_thresholds(graph));
  const Status refused = simulated(job, slow_world({"a", "b", "c", "d"}), {}, true).outcome.leader;
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("exit_thresholds: "), std::string::npos) << refused.error().message;
}

// What only lives within a step is there once for all devices.
TEST(ManyDevices, EachTakesLittleMoreMemoryThanWhatItKeeps) {
  MG_SKIP_IF_SANITIZED("sanitizers take memory of their own");
  train::TrainJob job = train::small_job(400);
  job.set_model(encode_onnx(train::convolutional_graph(10)));
  job.set_strategy("federated");
  job.set_local_steps(1);
  job.set_client_fraction(0.1f);
  job.set_momentum(0);
  const auto peak = [&](std::size_t devices) {
    return std::stod(in_child([&] {
      cluster::JobSpec whole;
      *whole.mutable_train() = job;
      return simulate(whole, boards(devices), {}).ok() ? std::to_string(peak_resident_memory()) : "nan";
    }));
  };
  EXPECT_LT((peak(220) - peak(20)) / 200, 300e3) << "bytes for each device";
}

}  // namespace
}  // namespace mangrove::sim
