// Jobs that cannot be, from a client that may be anybody: they are refused, and end no process.
#include <gtest/gtest.h>

#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/train/dataset_summary.h"

namespace mangrove::train {
namespace {

/// The first ten pixels are the logits: a classifier of the digits that has nothing to learn.
Graph graph_without_parameters() {
  GraphParts parts;
  parts.name = "fixed";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"flat"}},
                 {"first", "Slice", {}, {"flat", "from", "to", "axis"}, {"logits"}}};
  parts.initializers = {{"from", Tensor::of<std::int64_t>({1}, {0})},
                        {"to", Tensor::of<std::int64_t>({1}, {10})},
                        {"axis", Tensor::of<std::int64_t>({1}, {1})}};
  return Graph::create(std::move(parts)).value();
}

class Untrainable : public ::testing::TestWithParam<StrategyCase> {};

TEST_P(Untrainable, ANetworkWithoutParametersIsRefusedByEveryRank) {
  TrainJob job = job_of(GetParam(), 32);
  job.set_model(encode_onnx(graph_without_parameters()));
  RoleWorld world(4);
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("graph 'fixed' has no parameters that could be trained"),
            std::string::npos)
      << outcome.leader.error().message;
}

INSTANTIATE_TEST_SUITE_P(Every, Untrainable, ::testing::ValuesIn(every_strategy()), name_of);

TEST(Untrainable, MoreLocalStepsThanOneMessageTakesAreRefused) {
  TrainJob job = small_job(32);
  job.set_strategy("federated");
  job.set_epochs(1'000'000'000);
  job.set_local_epochs(1'000'000'000);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("local_epochs: 1000000000 passes over 32 samples"), std::string::npos)
      << outcome.leader.error().message;
}

TEST(Untrainable, SplitsThatNoDeviceHasAreRefused) {
  const TrainJob job = small_job(32);
  const Graph graph = parse_onnx(job.model()).value();
  Hello hello;
  hello.set_train_samples(32);
  for (int c = 0; c < 10; ++c) hello.add_classes(std::to_string(c));
  for (const int size : {1, 28, 28}) hello.add_sample_shape(size);
  EXPECT_TRUE(check_data(graph, job, hello).ok());
  for (const std::int64_t impossible : {std::int64_t{-1}, std::int64_t{1} << 32, std::int64_t{1} << 62}) {
    Hello test = hello, validation = hello;
    test.set_test_samples(impossible);
    validation.set_validation_samples(impossible);
    EXPECT_EQ(check_data(graph, job, test).code(), Code::invalid_argument) << impossible;
    EXPECT_EQ(check_data(graph, job, validation).code(), Code::invalid_argument) << impossible;
  }
}

TEST(Untrainable, AsManyEpochsAsAreAllowedBegin) {
  TrainJob job = small_job(32);
  job.set_epochs(1'000'000'000);
  job.set_schedule("cosine");
  RoleWorld world(2);
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::progress) world.stop().request_stop();
  });
  EXPECT_EQ(train(job, world).leader.code(), Code::cancelled);
}

}  // namespace
}  // namespace mangrove::train
