#include "mangrove/engine/training_plan.h"

#include <gtest/gtest.h>

#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

/// Convolution, normalization, activation, `depth` times, on images that dwarf the weights.
Graph deep_graph(int depth) {
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 8, 16, 16});
  std::string last = "x";
  for (int i = 0; i < depth; ++i) {
    const std::string n = std::to_string(i);
    sketch.parameter("w" + n, {8, 8, 3, 3}).parameter("scale" + n, {8}).parameter("bias" + n, {8});
    sketch.constant("mean" + n, Tensor(DType::f32, Shape{8})).constant("variance" + n, Tensor(DType::f32, Shape{8}));
    sketch.node("Conv", {last, "w" + n}, "conv" + n, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    sketch.node("BatchNormalization", {"conv" + n, "scale" + n, "bias" + n, "mean" + n, "variance" + n}, "norm" + n);
    sketch.node("Relu", {"norm" + n}, "relu" + n);
    last = "relu" + n;
  }
  return sketch.node("GlobalAveragePool", {last}, "pool").node("Flatten", {"pool"}, "y").create({"y"});
}

CompileOptions training_within(std::int64_t batch, const std::string& backend) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = batch;
  options.backend = backend;
  return options;
}

class TrainingPlanOf : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingPlanOf, ALargeBudgetIsTheWholeBatchAtOnce) {
  const auto plan = plan_training(deep_graph(12), training_within(16, GetParam()), Bytes{1} << 40);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->micro_batch, 16);
  EXPECT_EQ(plan->micro_batches(), 1);
  EXPECT_EQ(plan->slowdown, 1);
  EXPECT_EQ(plan->recomputed_share, 0);
  EXPECT_TRUE(plan->program->options().recompute.empty());
  EXPECT_EQ(plan->program->memory().total(), plan->unlimited);
}

TEST_P(TrainingPlanOf, LessMemoryCostsTimeAndIsKept) {
  const Graph graph = deep_graph(12);
  const auto all = plan_training(graph, training_within(16, GetParam()), Bytes{1} << 40);
  ASSERT_TRUE(all.ok());
  double before = 1;
  for (const int percent : {80, 60, 45, 35, 25}) {
    const Bytes budget = all->unlimited * percent / 100;
    const auto plan = plan_training(graph, training_within(16, GetParam()), budget);
    ASSERT_TRUE(plan.ok()) << percent << ": " << plan.error().message;
    EXPECT_LE(plan->program->memory().total(), budget) << percent;
    EXPECT_GE(plan->slowdown, before) << percent;
    EXPECT_LT(plan->slowdown, 1.5) << percent;
    EXPECT_EQ(plan->program->options().batch, plan->micro_batch);
    EXPECT_GE(plan->micro_batch * plan->micro_batches(), 16);
    before = plan->slowdown;
  }
}

TEST_P(TrainingPlanOf, TooLittleMemoryIsRefusedAndTheLeastThatDoesIsKnown) {
  const Graph graph = deep_graph(12);
  const auto refused = plan_training(graph, training_within(16, GetParam()), 1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  const auto least = least_training_memory(graph, training_within(16, GetParam()));
  ASSERT_TRUE(least.ok()) << least.error().message;
  const auto plan = plan_training(graph, training_within(16, GetParam()), *least);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->micro_batch, 1);
  EXPECT_LE(plan->program->memory().total(), *least);
}

TEST_P(TrainingPlanOf, AChainWithSkipsFitsToo) {
  const Graph graph = branching_graph(DType::f32);
  const auto all = plan_training(graph, training_within(32, GetParam()), Bytes{1} << 40);
  ASSERT_TRUE(all.ok());
  const auto plan = plan_training(graph, training_within(32, GetParam()), all->unlimited / 2);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_LE(plan->program->memory().total(), all->unlimited / 2);
}

INSTANTIATE_TEST_SUITE_P(Backends, TrainingPlanOf,
                         ::testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
