#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/sanitizer.h"
#include "tests/sim/simulated_job.h"

#include "mangrove/base/process_memory.h"

namespace mangrove::sim {
namespace {

using nlohmann::json;

struct Case {
  std::string name;
  void (*choose)(train::TrainJob& job);
  double most_apart;  // of the seconds, relative
};

/// Where wire and computing take about as long.
World slow_boards() {
  World world = boards(4);
  for (Device& device : world.devices) {
    device.flops = 1e7;
    device.up = device.down = 250e3;
    device.line = {.delay = 0.005};
  }
  return world;
}

class Modelled : public testing::TestWithParam<Case> {};

TEST_P(Modelled, TakesAsLongAsTheRealComputation) {
  train::TrainJob job = train::small_job(320);
  job.set_epochs(2);
  GetParam().choose(job);
  const json real = simulated(job, slow_boards()), modelled = simulated(job, slow_boards(), {}, 0, true);
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
    testing::Values(Case{"server", [](train::TrainJob&) {}, 0.005},
                    Case{"server_with_codecs",
                         [](train::TrainJob& job) {
                           job.set_codec("two_step(0.05)");
                           job.set_codec_pull("int8");
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
                           job.set_codec_pull("two_step(0.1)");
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
  EXPECT_NE(message_of([](train::TrainJob& job) { job.set_codec("auto"); }).find("codec 'auto': goes by"),
            std::string::npos);
  EXPECT_NE(message_of([](train::TrainJob& job) {
              job.set_codec("top_k(0.01)");
              job.set_codec_warmup(4);
            }).find("codec_warmup: goes by"),
            std::string::npos);
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
