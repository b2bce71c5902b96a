#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

constexpr std::int64_t kElements = 100'000;
constexpr float kRatio = 0.3f;

Graph two_dropouts() {
  return GraphSketch(DType::f32)
      .input("x", {kBatch, kElements})
      .constant("ratio", Tensor::of<float>(Shape(), {kRatio}))
      .node_of_several("Dropout", {"x", "ratio"}, {"y", "mask"})
      .node("Dropout", {"x", "ratio"}, "other")
      .create({"y", "mask", "other"});
}

class Dropout : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Execution> execution(Mode mode) const {
    auto program = Program::compile(
        two_dropouts(), {.mode = mode, .batch = 1, .backend = GetParam(), .input_gradients = mode == Mode::training});
    EXPECT_TRUE(program.ok()) << program.error().message;
    auto made = Execution::create(*program);
    EXPECT_TRUE(made.ok());
    std::ranges::fill((*made)->input<float>("x"), 1.0f);
    return std::move(made).value();
  }
};

std::vector<float> forward(Execution& execution, const std::string& output) {
  execution.forward();
  const auto values = execution.output<float>(output);
  return {values.begin(), values.end()};
}

TEST_P(Dropout, KeepsOnAverageWhatTheRatioSaysAndScales) {
  const auto run = execution(Mode::training);
  const std::vector<float> y = forward(*run, "y");
  const auto mask = run->output<bool>("mask");
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    kept += mask[i] ? 1 : 0;
    ASSERT_FLOAT_EQ(y[i], mask[i] ? 1 / (1 - kRatio) : 0.0f);
  }
  const double rate = static_cast<double>(kept) / kElements;
  const double deviation = std::sqrt(kRatio * (1 - kRatio) / kElements);
  EXPECT_NEAR(rate, 1 - kRatio, 5 * deviation);
}

TEST_P(Dropout, BackwardUsesTheSameMask) {
  const auto run = execution(Mode::training);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::vector<float> y = forward(*run, "y");
    std::ranges::fill(run->output_gradient<float>("y"), 1.0f);
    std::ranges::fill(run->output_gradient<float>("other"), 0.0f);
    run->backward();
    const Tensor gradient = run->gradient("x");
    EXPECT_TRUE(std::ranges::equal(gradient.as<float>(), y));
  }
}

TEST_P(Dropout, IsDeterminedBySeedAndRun) {
  const auto run = execution(Mode::training), again = execution(Mode::training);
  run->seed(7);
  again->seed(7);
  const std::vector<float> first = forward(*run, "y"), second = forward(*run, "y");
  EXPECT_NE(first, second);
  EXPECT_EQ(forward(*again, "y"), first);
  EXPECT_EQ(forward(*again, "y"), second);
  run->seed(7);
  EXPECT_EQ(forward(*run, "y"), first);
  run->seed(8);
  EXPECT_NE(forward(*run, "y"), first);
}

TEST_P(Dropout, DiffersFromNodeToNode) {
  const auto run = execution(Mode::training);
  std::int64_t both = 0;
  run->seed(1);
  run->forward();
  const auto a = run->output<float>("y"), b = run->output<float>("other");
  for (std::size_t i = 0; i < a.size(); ++i) both += a[i] != 0 && b[i] != 0 ? 1 : 0;
  const double expected = (1 - kRatio) * (1 - kRatio);
  EXPECT_NEAR(static_cast<double>(both) / kElements, expected, 5 * std::sqrt(expected * (1 - expected) / kElements));
}

TEST_P(Dropout, HandsOnItsInputInInference) {
  const auto run = execution(Mode::inference);
  EXPECT_TRUE(std::ranges::all_of(forward(*run, "y"), [](float y) { return y == 1; }));
  EXPECT_TRUE(std::ranges::all_of(run->output<bool>("mask"), [](bool kept) { return kept; }));
}

INSTANTIATE_TEST_SUITE_P(Backends, Dropout,
                         ::testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

TEST(DropoutRule, RefusesARatioThatDropsEverything) {
  GraphParts parts;
  parts.name = "all";
  parts.inputs = {{"x", {DType::f32, {2}}}};
  parts.initializers = {{"ratio", Tensor::of<float>(Shape(), {1.0f})}};
  parts.nodes = {{.name = "d", .op = "Dropout", .attributes = {}, .inputs = {"x", "ratio"}, .outputs = {"y"}}};
  parts.outputs = {"y"};
  const auto graph = Graph::create(parts);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("expected at least 0 and less than 1"), std::string::npos)
      << graph.error().message;
}

}  // namespace
}  // namespace mangrove
