#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/views.h"

namespace mangrove {
namespace {

using testing::make_node;

/// Rows of an image of 1 x 2 x 2, of which each makes a class score ("a1", "b1"); the first exit is their sum. The last
/// is made of what comes before the scores ("a0", "b0"), and of the first score.
GraphParts graph_of_two_views() {
  const auto integers = [](std::int64_t value) { return Tensor::of<std::int64_t>(Shape{1}, {value}); };
  GraphParts parts;
  parts.name = "two";
  parts.inputs = {{"x", {DType::f32, {kBatch, 1, 2, 2}}}};
  parts.outputs = {"e1", "e2"};
  parts.initializers = {{"0", integers(0)}, {"1", integers(1)}, {"2", integers(2)}};
  parts.nodes = {make_node("upper", "Slice", {"x", "0", "1", "2"}, {"u"}),
                 make_node("lower", "Slice", {"x", "1", "2", "2"}, {"l"}),
                 make_node("b.flat", "Flatten", {"l"}, {"b0"}),
                 make_node("b.relu", "Relu", {"b0"}, {"b1"}),
                 make_node("a.flat", "Flatten", {"u"}, {"a0"}),
                 make_node("a.relu", "Relu", {"a0"}, {"a1"}),
                 make_node("fuse", "Add", {"a1", "b1"}, {"e1"}),
                 make_node("join", "Add", {"a0", "b0"}, {"s"}),
                 make_node("last", "Add", {"s", "a1"}, {"e2"})};
  return parts;
}

std::vector<std::string> inputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, info] : graph.inputs()) names.push_back(name);
  return names;
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ViewSplit, PartsAreWhatIsMadeOfOneViewAndWhatIsMadeOfSeveral) {
  const auto split = split_views(Graph::create(graph_of_two_views()).value());
  ASSERT_TRUE(split.ok()) << split.error().message;
  ASSERT_EQ(split->devices.size(), 2u);
  const ViewSplit::Device &first = split->devices[0], &second = split->devices[1];
  EXPECT_EQ(operators_of(first.graph), (Names{"upper", "a.flat", "a.relu"}));
  EXPECT_EQ(operators_of(second.graph), (Names{"lower", "b.flat", "b.relu"}));
  EXPECT_EQ(inputs_of(first.graph), Names{"x"});
  EXPECT_EQ(first.scores, Names{"a1"});
  EXPECT_EQ(second.scores, Names{"b1"});
  EXPECT_EQ(first.features, (Names{"a0", "a1"})) << "a1 is needed twice";
  EXPECT_EQ(second.features, Names{"b0"});
  EXPECT_EQ(first.graph.outputs(), (Names{"a1", "a0"}));
  EXPECT_EQ(inputs_of(split->fusion), (Names{"a1", "b1"})) << "in the order of the views, not of the operators";
  EXPECT_EQ(operators_of(split->fusion), Names{"fuse"});
  EXPECT_EQ(split->fusion.outputs(), Names{"e1"});
  EXPECT_EQ(inputs_of(split->upper), (Names{"a0", "a1", "b0"}));
  EXPECT_EQ(operators_of(split->upper), (Names{"join", "last"}));
  EXPECT_EQ(split->upper.outputs(), Names{"e2"});
}

TEST(ViewSplit, NetworksThatCannotBeSplitAreRefused) {
  const auto error = [](GraphParts parts) {
    const auto split = split_views(Graph::create(std::move(parts)).value());
    EXPECT_EQ(split.code(), Code::invalid_argument);
    return split.ok() ? "" : split.error().message;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error(testing::small_network()), "does not take its image apart");
  GraphParts one_exit = graph_of_two_views();
  one_exit.outputs = {"e2"};
  has(error(one_exit), "has no early exits");
  GraphParts whole = graph_of_two_views();
  whole.nodes.push_back(make_node("all", "Flatten", {"x"}, {"all"}));
  has(error(whole), "reads its image in 'all' too");
  GraphParts unused = graph_of_two_views();
  unused.nodes.push_back(make_node("third", "Slice", {"x", "0", "2", "2"}, {"t"}));
  has(error(unused), "has a view 'third' that no exit needs");
  GraphParts of_one = graph_of_two_views();
  of_one.outputs = {"a1", "e2"};
  has(error(of_one), "has an exit 'a1' that is made of view 'upper' alone");
  of_one.outputs = {"e1", "b0"};
  has(error(of_one), "has an exit 'b0' that is made of view 'lower' alone");
}

TEST(ViewSplit, WhatAnOperatorLeavesOutIsNoValue) {
  GraphParts parts = graph_of_two_views();
  for (Node& node : parts.nodes) {
    if (node.name == "a.relu") node = make_node("a.relu", "Dropout", {"a0"}, {"a1", ""});
    if (node.name == "b.relu") node = make_node("b.relu", "Clip", {"b0", "", ""}, {"b1"});
  }
  std::ranges::swap(parts.nodes[3], parts.nodes[5]);  // the view whose operator leaves out an output comes first
  std::ranges::swap(parts.nodes[2], parts.nodes[4]);
  const auto split = split_views(Graph::create(std::move(parts)).value());
  ASSERT_TRUE(split.ok()) << split.error().message;
  EXPECT_EQ(operators_of(split->devices[1].graph), (Names{"lower", "b.flat", "b.relu"}));
  EXPECT_EQ(inputs_of(split->fusion), (Names{"a1", "b1"}));
}

}  // namespace
}  // namespace mangrove
