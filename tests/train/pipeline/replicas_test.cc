// Stages with replicas against one device: the same numbers, whoever has which micro-batch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/train/pipeline/pipeline_job.h"

namespace mangrove::train {
namespace {

struct Replicas : ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Replicas, ::testing::Values("gpipe", "one_f_one_b"),
                         [](const auto& test) { return test.param; });

TEST_P(Replicas, EqualOneDevice) {
  for (const bool normalizes : {false, true}) {
    TrainJob job = pipeline_job(GetParam(), 55);  // the last batch has 7
    job.set_model(encode_onnx(residual_graph(normalizes)));
    job.set_epochs(2);
    const RoleWorld::Outcome one = on_one_device(job);
    ASSERT_TRUE(one.leader.ok()) << one.leader.error().message;
    for (const int replicas : {0, 2, 3}) {
      for (const int nodes : {2, 3, 5}) {
        job.set_replicas(replicas);
        const RoleWorld::Outcome outcome = train(job, nodes);
        const std::string where = std::to_string(nodes) + " nodes, replicas " + std::to_string(replicas);
        expect_complete(outcome, job, where);
        expect_equal(outcome, one, normalizes, where);
        EXPECT_NEAR(json_number(outcome.result(), "accuracy"), json_number(one.result(), "accuracy"), 1e-5) << where;
        const auto stages = nlohmann::json::parse(outcome.result())["stages"];
        ASSERT_EQ(stages.size(), static_cast<std::size_t>(nodes)) << where;
        EXPECT_LT(stages.back()["stage"].get<int>() + 1, nodes) << where << ": no stage has replicas";
      }
    }
  }
}

TEST_P(Replicas, AreDeterministic) {
  TrainJob job = pipeline_job(GetParam());
  job.set_replicas(2);
  job.set_model(encode_onnx(residual_graph(true)));
  const RoleWorld::Outcome first = train(job, 4), second = train(job, 4);
  EXPECT_EQ(trained_parameters(first), trained_parameters(second));
  EXPECT_EQ(states_of(first), states_of(second));
}

TEST_P(Replicas, SurviveADeathAtAnyMessage) {
  TrainJob job = pipeline_job(GetParam(), 36);
  job.set_model(encode_onnx(small_graph()));
  job.set_replicas(2);
  const RoleWorld::Outcome one = on_one_device(job);
  for (int k = 0;; ++k) {
    RoleWorld world(5);
    world.use_virtual_time();
    world.die({.rank = 2, .at_send = k});
    const RoleWorld::Outcome outcome = train(job, world);
    if (outcome.sent[2] <= k) {
      EXPECT_GE(k, 10);
      break;
    }
    expect_complete(outcome, job, "dead before message " + std::to_string(k));
    EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(one)), 1e-5) << k;
  }
}

}  // namespace
}  // namespace mangrove::train
