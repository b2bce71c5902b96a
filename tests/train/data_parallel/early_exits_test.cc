#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"

namespace mangrove::train {
namespace {

/// small_graph() with an exit that reads the input straight.
Graph graph_with_exit() {
  GraphParts parts = small_graph().parts();
  parts.name = "exits";
  parts.outputs = {"exit1", "logits"};
  parts.nodes.push_back({"fc0", "Gemm", {{"transB", std::int64_t{1}}}, {"flat", "w0", "b0"}, {"exit1"}});
  parts.initializers.emplace("w0", Tensor(DType::f32, {10, 784}));
  parts.initializers.emplace("b0", Tensor(DType::f32, {10}));
  return Graph::create(std::move(parts)).value();
}

TrainJob job_with_exit() {
  TrainJob job = small_job(96);
  job.set_model(encode_onnx(graph_with_exit()));
  job.set_data("glyphs,validation=200");
  job.set_epochs(2);
  return job;
}

TEST(ExitsInTraining, AccuracyOfEachIsToldAfterEachEpochAndInTheEnd) {
  const RoleWorld::Outcome outcome = train(job_with_exit(), 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const auto epoch = nlohmann::json::parse(outcome.last("epoch").json);
  for (const char* key : {"exit_accuracy", "validation_exit_accuracy"}) {
    ASSERT_EQ(epoch[key].size(), 2u) << key;
    EXPECT_GT(epoch[key][0].get<double>(), 0.2) << key;
    EXPECT_NE(epoch[key][0], epoch[key][1]) << key;
  }
  EXPECT_EQ(epoch["exit_accuracy"][1], epoch["accuracy"]);
  EXPECT_EQ(epoch["validation_exit_accuracy"][1], epoch["validation_accuracy"]);
  const auto result = nlohmann::json::parse(outcome.result());
  EXPECT_EQ(result["exit_accuracy"][1], result["accuracy"]);
  EXPECT_EQ(parse_onnx(outcome.last("result").attachment)->outputs(), (std::vector<std::string>{"exit1", "logits"}));
}

TEST(ExitsInTraining, WorkersOfABatchEqualOneOfAll) {
  TrainJob job = job_with_exit();
  job.mutable_exit_weights()->Add(0.5f);
  job.mutable_exit_weights()->Add(2.0f);
  const RoleWorld::Outcome three = train(job, 3);
  job.set_batch(24);
  const RoleWorld::Outcome one = train(job, 1);
  ASSERT_TRUE(three.leader.ok() && one.leader.ok());
  EXPECT_LT(relative_difference(trained_parameters(three), trained_parameters(one)), 1e-5);
  job.clear_exit_weights();
  EXPECT_GT(relative_difference(trained_parameters(train(job, 1)), trained_parameters(one)), 1e-3);
}

TEST(ExitsInTraining, RefusesWeightsForAnotherNumberAndPipelines) {
  TrainJob job = job_with_exit();
  job.mutable_exit_weights()->Add(1);
  const RoleWorld::Outcome weights = train(job, 1);
  ASSERT_EQ(weights.leader.code(), Code::invalid_argument);
  EXPECT_NE(weights.leader.error().message.find("exit_weights: 1 given"), std::string::npos);
  job.clear_exit_weights();
  job.set_strategy("gpipe");
  const RoleWorld::Outcome pipeline = train(job, 2);
  ASSERT_EQ(pipeline.leader.code(), Code::invalid_argument);
  EXPECT_NE(pipeline.leader.error().message.find("has early exits"), std::string::npos)
      << pipeline.leader.error().message;
}

}  // namespace
}  // namespace mangrove::train
