// A wide layer in parts computes what it computes whole, bit for bit.
#include "mangrove/graph/wide_layers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

constexpr std::int64_t kInputs = 300, kOutputs = 107;

/// x [N, inputs] -> Gemm -> Relu -> Gemm -> y.
Graph two_layers(bool transposed, bool with_bias) {
  GraphParts parts;
  parts.name = "wide";
  parts.inputs = {{"x", {DType::f32, Shape{kBatch, kInputs}}}};
  parts.outputs = {"y"};
  const Shape weights = transposed ? Shape{kOutputs, kInputs} : Shape{kInputs, kOutputs};
  parts.initializers["w"] = uniform_tensor(DType::f32, weights, 1, -1, 1);
  parts.initializers["w2"] = uniform_tensor(DType::f32, Shape{kOutputs, 10}, 2, -1, 1);
  Node wide{.name = "fc", .op = "Gemm", .attributes = {}, .inputs = {"x", "w"}, .outputs = {"h"}};
  if (transposed) wide.attributes["transB"] = std::int64_t{1};
  if (with_bias) {
    parts.initializers["b"] = uniform_tensor(DType::f32, Shape{kOutputs}, 3, -1, 1);
    wide.inputs.push_back("b");
  }
  parts.nodes = {wide,
                 {.name = "relu", .op = "Relu", .attributes = {}, .inputs = {"h"}, .outputs = {"r"}},
                 {.name = "last", .op = "Gemm", .attributes = {}, .inputs = {"r", "w2"}, .outputs = {"y"}}};
  return Graph::create(std::move(parts)).value();
}

std::vector<float> run_layers(const Graph& graph, const std::string& backend, std::int64_t batch) {
  auto program = Program::compile(graph, {.batch = batch, .backend = backend}).value();
  auto execution = Execution::create(program).value();
  const Tensor x = uniform_tensor(DType::f32, Shape{batch, kInputs}, 4, -1, 1);
  EXPECT_TRUE(execution->set_input("x", x).ok());
  execution->forward();
  const auto y = execution->output<float>("y");
  return {y.begin(), y.end()};
}

std::size_t parts_of(const Graph& graph) {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.name.starts_with("fc/part"); }));
}

TEST(WideLayers, InPartsComputeTheSame) {
  for (const bool transposed : {false, true}) {
    for (const bool with_bias : {false, true}) {
      const Graph whole = two_layers(transposed, with_bias);
      for (const std::size_t count : {2, 3, 107}) {
        const Bytes weights = kInputs * kOutputs * 4,
                    most = (weights + static_cast<Bytes>(count) - 1) / static_cast<Bytes>(count);
        const Graph parts = split_wide_layers(whole, most).value();
        EXPECT_EQ(parts_of(parts), count);
        Bytes largest = 0;
        for (const auto& [name, tensor] : parts.initializers()) largest = std::max(largest, tensor.bytes());
        EXPECT_LE(largest, most + kInputs * 4);  // outputs are not divided
        for (const std::int64_t batch : {1, 5})
          EXPECT_EQ(run_layers(parts, "portable", batch), run_layers(whole, "portable", batch));
      }
    }
  }
}

#ifdef MANGROVE_WITH_ONEDNN
TEST(WideLayers, InPartsComputeNearlyTheSameWithOnednn) {
  const Graph whole = two_layers(true, true), parts = split_wide_layers(whole, 40'000).value();
  const auto expected = run_layers(whole, "onednn", 5), found = run_layers(parts, "onednn", 5);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-3) << i;
}
#endif

TEST(WideLayers, OthersStayAsTheyAre) {
  const Graph whole = two_layers(true, true);
  EXPECT_EQ(split_wide_layers(whole, kInputs * kOutputs * 4).value().nodes().size(), 3u);
  GraphParts shared = whole.parts();  // a second reader of the weights
  shared.nodes.push_back({.name = "other",
                          .op = "Gemm",
                          .attributes = {{"transB", std::int64_t{1}}},
                          .inputs = {"x", "w"},
                          .outputs = {"z"}});
  shared.outputs.push_back("z");
  EXPECT_EQ(parts_of(split_wide_layers(Graph::create(std::move(shared)).value(), 1000).value()), 0u);
}

TEST(WideLayers, ANameThatIsTakenIsAnError) {
  GraphParts taken = two_layers(true, true).parts();
  taken.nodes.push_back({.name = "twin", .op = "Relu", .attributes = {}, .inputs = {"x"}, .outputs = {"h/part1"}});
  taken.outputs.push_back("h/part1");
  const auto parts = split_wide_layers(Graph::create(std::move(taken)).value(), 1000);
  ASSERT_FALSE(parts.ok());
  EXPECT_EQ(parts.code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove
