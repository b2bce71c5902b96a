// Which nodes are computed inside the kernels of the one before, and that it changes no result. oneDNN has such
// kernels.
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

const std::map<std::string, Attribute> kFusionSame{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};

/// conv "a" of the input, conv "b" behind it.
GraphSketch two_convolutions() {
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 3, 6, 6})
      .parameter("w", {16, 3, 3, 3}, -0.3, 0.3)
      .parameter("v", {16, 16, 3, 3}, -0.1, 0.1);
  sketch.node("Conv", {"x", "w"}, "a", kFusionSame).node("Conv", {"a", "v"}, "b", kFusionSame);
  return sketch;
}

struct FusionCase {
  const char* name;
  Graph graph;
  std::vector<std::string> fused;  // nodes without steps of their own, in inference
};

std::vector<FusionCase> cases() {
  return {
      {"residual_and_activation",
       two_convolutions().node("Add", {"b", "a"}, "sum").node("Relu", {"sum"}, "y").create({"y"}),
       {"sum", "y"}},
      {"residual_on_the_left", two_convolutions().node("Add", {"a", "b"}, "sum").create({"sum"}), {"sum"}},
      {"residual_used_again",
       two_convolutions().node("Add", {"b", "a"}, "sum").node("Add", {"sum", "a"}, "y").create({"y"}),
       {"sum"}},
      {"residual_is_the_convolutions_input_too",
       two_convolutions().node("Conv", {"b", "v"}, "c", kFusionSame).node("Add", {"c", "b"}, "y").create({"y"}),
       {"y"}},
      {"residual_made_later",
       two_convolutions().node("Relu", {"a"}, "r").node("Add", {"b", "r"}, "y").create({"y"}),
       {}},
      {"broadcast", two_convolutions().parameter("p", {16, 1, 1}).node("Add", {"b", "p"}, "sum").create({"sum"}), {}},
      {"result_is_an_output", two_convolutions().node("Relu", {"b"}, "y").create({"b", "y"}), {}},
      {"result_used_twice",
       two_convolutions().node("Relu", {"b"}, "r").node("Tanh", {"b"}, "t").node("Add", {"r", "t"}, "y").create({"y"}),
       {}},
  };
}

std::unique_ptr<Execution> compile_fused(const Graph& graph, const std::string& backend, bool fuse) {
  auto program = Program::compile(graph, {.batch = 2, .backend = backend, .fuse = fuse});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(Execution::create(*program)).value();
}

TEST(Fusion, FusedNodesHaveNoStepsAndResultsStay) {
  for (const FusionCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto fused = compile_fused(c.graph, "onednn", true), reference = compile_fused(c.graph, "portable", true);
    std::vector<std::string> without_steps;
    for (const Node& node : c.graph.nodes()) {
      const auto& steps = fused->program().forward_steps();
      if (std::ranges::none_of(steps, [&](const auto& placed) { return placed.step.node == node.name; }))
        without_steps.push_back(node.name);
    }
    EXPECT_EQ(without_steps, c.fused) << fused->program().describe();
    for (std::uint64_t seed = 1; seed < 3; ++seed) {
      const Tensor x = uniform_tensor(DType::f32, {2, 3, 6, 6}, seed);
      for (const auto& execution : {fused.get(), reference.get()}) {
        ASSERT_TRUE(execution->set_input("x", x).ok());
        execution->forward();
      }
      for (const std::string& name : c.graph.outputs()) {
        const auto found = fused->output<float>(name), expected = reference->output<float>(name);
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << name << " " << i;
      }
    }
  }
}

TEST(Fusion, CanBeSwitchedOff) {
  const Graph graph = cases()[0].graph;
  EXPECT_EQ(compile_fused(graph, "onednn", true)->program().describe().find("sum forward"), std::string::npos);
  EXPECT_NE(compile_fused(graph, "onednn", false)->program().describe().find("sum forward"), std::string::npos);
}

}  // namespace
}  // namespace mangrove
#endif
