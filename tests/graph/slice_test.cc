#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/graph.h"

namespace mangrove {
namespace {

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, info] : graph.inputs()) names.push_back(name);
  return names;
}

std::vector<std::string> initializer_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : graph.initializers()) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Slice, WholeGraphHasTheSameEnds) {
  const Graph graph = Graph::create(testing::small_network()).value();
  const auto whole = graph.slice(0, graph.nodes().size());
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->inputs(), graph.inputs());
  EXPECT_EQ(input_names(*whole), Names{"x"});
  EXPECT_EQ(whole->outputs(), (Names{"r1", "probabilities"}));
  EXPECT_EQ(whole->parameters(), graph.parameters());
  EXPECT_EQ(whole->metadata(), graph.metadata());
}

TEST(Slice, MiddleTakesItsInputsAndKeepsOnlyItsInitializers) {
  const Graph graph = Graph::create(testing::small_network()).value();
  const auto stage = graph.slice(1, 4);  // relu, pool, reshape
  ASSERT_TRUE(stage.ok()) << stage.error().message;
  EXPECT_EQ(input_names(*stage), Names{"c1"});
  EXPECT_EQ(stage->inputs()[0].second.shape, (Shape{kBatch, 4, 8, 8}));
  EXPECT_EQ(stage->outputs(), (Names{"r1", "f1"}));  // r1 is an output of the whole graph, f1 feeds the next node
  EXPECT_EQ(initializer_names(*stage), Names{"shape"});
  EXPECT_EQ(stage->value("f1"), graph.value("f1"));
  EXPECT_TRUE(stage->parameters().empty());
}

TEST(Slice, BranchesBecomeSeveralInputsAndOutputs) {
  const Graph graph = Graph::create(testing::two_branches()).value();
  const Graph front = graph.slice(0, 2).value();
  EXPECT_EQ(input_names(front), Names{"x"});
  EXPECT_EQ(front.outputs(), Names{"a"});
  const Graph back = graph.slice(2, 4).value();
  EXPECT_EQ(input_names(back), (Names{"x", "a"}));  // in order of first use
  EXPECT_EQ(back.outputs(), Names{"y"});
  EXPECT_EQ(initializer_names(back), Names{"shared"});
  const Graph both = graph.slice(1, 3).value();
  EXPECT_EQ(input_names(both), (Names{"l", "x"}));
  EXPECT_EQ(both.outputs(), (Names{"a", "r"}));
}

TEST(Slice, SharesTheTensorsOfItsGraph) {
  const Graph graph = Graph::create(testing::two_branches()).value();
  EXPECT_EQ(graph.slice(0, 1)->initializers().at("shared").data(), graph.initializers().at("shared").data());
}

TEST(Slice, RefusesRangesOutsideAndEmptyOnes) {
  const Graph graph = Graph::create(testing::two_branches()).value();
  EXPECT_EQ(graph.slice(0, 5).code(), Code::out_of_range);
  EXPECT_EQ(graph.slice(3, 2).code(), Code::out_of_range);
  EXPECT_EQ(graph.slice(2, 2).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove
