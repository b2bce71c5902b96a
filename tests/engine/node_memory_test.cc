// What a program says of each node's memory, beside what it says of all of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/memory_plan.h"
#include "mangrove/engine/program.h"

namespace mangrove {
namespace {

std::shared_ptr<const Program> compiled(const std::string& backend, Mode mode) {
  CompileOptions options;
  options.mode = mode;
  options.batch = 5;
  options.backend = backend;
  auto program = Program::compile(tiny_lenet(DType::f32), options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  return *program;
}

TEST(NodeMemory, TogetherIsThatOfTheProgram) {
  for (const std::string& backend : backend_names()) {
    const auto program = compiled(backend, Mode::inference);
    const std::vector<NodeMemory>& nodes = program->node_memory();
    ASSERT_EQ(nodes.size(), program->graph().nodes().size());
    Bytes weights = 0, most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].node, program->graph().nodes()[i].name);
      weights += nodes[i].weights;
      most = std::max(most, nodes[i].arena);
    }
    const auto values = static_cast<Bytes>(program->placed_values().size());
    EXPECT_LE(weights, program->memory().parameters) << backend;
    EXPECT_GT(weights, program->memory().parameters - values * kBufferAlignment) << backend;
    EXPECT_LE(most, program->memory().arena) << backend;
    EXPECT_GE(most, program->memory().arena / 2) << backend;
  }
}

TEST(NodeMemory, OfANodeIsAtLeastWhatItReadsAndMakes) {
  const auto program = compiled("portable", Mode::inference);
  const Graph& graph = program->graph();
  const auto bytes = [&](const std::string& name) { return 4 * graph.value(name).shape.with_batch(5).elements(); };
  const NodeMemory& first = program->node_memory().front();
  const Node& node = graph.nodes().front();
  Bytes weights = 0;
  for (const std::string& input : node.inputs)
    if (graph.initializers().contains(input)) weights += bytes(input);
  EXPECT_EQ(first.weights, weights);
  EXPECT_GE(first.arena, bytes(node.inputs.front()) + bytes(node.outputs.front()));
}

TEST(NodeMemory, InTrainingIsWhatIsKept) {
  for (const std::string& backend : backend_names()) {
    const auto program = compiled(backend, Mode::training);
    Bytes kept = 0;
    for (const Program::Link& link : program->chain()) {
      const auto& nodes = program->node_memory();
      const auto found = std::ranges::find(nodes, link.node->name, &NodeMemory::node);
      ASSERT_NE(found, nodes.end());
      EXPECT_GE(found->arena, link.link.kept) << backend << ' ' << link.node->name;
      kept += link.link.kept;
    }
    EXPECT_GT(kept, 0) << backend;
  }
}

}  // namespace
}  // namespace mangrove
