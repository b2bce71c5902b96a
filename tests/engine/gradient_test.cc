// Gradients in double against central differences: every operator of the operator table, then whole graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/gradient_check.h"
#include "tests/engine/operator_samples.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

class EveryDifferentiableOperator : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryDifferentiableOperator, GradientsMatchCentralDifferences) {
  int samples = 0;
  for (const OperatorSample& sample : operator_samples()) {
    if (sample.op != GetParam() || !sample.differentiable) continue;
    ++samples;
    for (const std::int64_t batch : {1, 3}) {
      SCOPED_TRACE(sample.name + " batch " + std::to_string(batch));
      const Graph graph = sample_graph(sample, DType::f64);
      std::map<std::string, Tensor> inputs;
      for (const auto& [name, info] : graph.inputs()) inputs[name] = sample_input(sample, graph, name, batch, 5);
      const auto execution = training_execution(graph, "portable", batch);
      EXPECT_LT(gradient_error(*execution, 5, inputs), 1e-6);
    }
  }
  EXPECT_GT(samples, 0) << "no sample of operator " << GetParam() << " in *_samples.cc";
}

std::vector<std::string> differentiable_types() {
  std::vector<std::string> types;
  for (const Operator& row : operators()) {
    if (row.differentiable) types.emplace_back(row.type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryDifferentiableOperator, ::testing::ValuesIn(differentiable_types()),
                         [](const auto& test) { return test.param; });

class EveryBackend : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryBackend, WholeLeNetMatchesCentralDifferences) {
  const auto execution = training_execution(tiny_lenet(DType::f64), GetParam(), 3);
  EXPECT_LT(gradient_error(*execution, 1), 1e-6);
}

TEST_P(EveryBackend, SharedValuesAndParametersMatchCentralDifferences) {
  const auto execution = training_execution(branching_graph(DType::f64), GetParam(), 2);
  EXPECT_LT(gradient_error(*execution, 2), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackend,
                         ::testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

TEST(Gradient, OfAParameterThatLeadsToNoOutputIsZero) {
  const Graph graph = GraphSketch(DType::f64)
                          .input("x", {kBatch, 3})
                          .parameter("used", {3})
                          .parameter("unused", {3})
                          .node("Add", {"x", "used"}, "y")
                          .node("Add", {"x", "unused"}, "nowhere")
                          .create({"y"});
  const auto execution = training_execution(graph, "portable", 2);
  EXPECT_LT(gradient_error(*execution, 3), 1e-6);
  const Tensor gradient = execution->gradient("unused");
  const auto elements = gradient.as<double>();
  EXPECT_TRUE(std::all_of(elements.begin(), elements.end(), [](double g) { return g == 0; }));
}

}  // namespace
}  // namespace mangrove
