#include "mangrove/graph/exits.h"

#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

using testing::make_node;
using Names = std::vector<std::string>;

/// x [N, 4] - a - b - c, with an exit behind each, whose nodes come last.
GraphParts three_exits() {
  GraphParts parts;
  parts.name = "exits";
  parts.inputs = {{"x", {DType::f32, {kBatch, 4}}}};
  parts.outputs = {"e1", "e2", "e3"};
  parts.nodes = {make_node("a", "Relu", {"x"}, {"va"}),           make_node("b", "Tanh", {"va"}, {"vb"}),
                 make_node("c", "Add", {"vb", "x"}, {"vc"}),      make_node("exit3", "Relu", {"vc"}, {"e3"}),
                 make_node("exit2", "Add", {"vb", "va"}, {"e2"}), make_node("exit1", "Tanh", {"va"}, {"e1"}),
                 make_node("unused", "Relu", {"va"}, {"nothing"})};
  return parts;
}

Names names_of(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

TEST(Exits, AreOutputsThatAreAlike) {
  EXPECT_TRUE(has_early_exits(Graph::create(three_exits()).value()));
  EXPECT_EQ(answering_output(Graph::create(three_exits()).value()), 2u);
  GraphParts one = three_exits();
  one.outputs = {"e3"};
  EXPECT_FALSE(has_early_exits(Graph::create(one).value()));
  GraphParts unlike = three_exits();
  unlike.nodes.push_back(make_node("sum", "ReduceMean", {"vb"}, {"mean"}, {{"axes", std::vector<std::int64_t>{1}}}));
  unlike.outputs = {"e1", "mean"};
  EXPECT_FALSE(has_early_exits(Graph::create(unlike).value()));
  EXPECT_EQ(answering_output(Graph::create(unlike).value()), 0u);
}

TEST(Exits, SurviveOnnxInTheirOrder) {
  const auto parsed = parse_onnx(encode_onnx(Graph::create(three_exits()).value()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->outputs(), (Names{"e1", "e2", "e3"}));
  EXPECT_TRUE(has_early_exits(*parsed));
}

TEST(Exits, SegmentsHaveWhatEachExitNeedsBeyondThoseBefore) {
  const auto segments = exit_segments(Graph::create(three_exits()).value());
  ASSERT_TRUE(segments.ok()) << segments.error().message;
  EXPECT_EQ(names_of(segments->graph), (Names{"a", "exit1", "b", "exit2", "c", "exit3"}));
  EXPECT_EQ(segments->ends, (std::vector<std::size_t>{2, 4, 6}));
  EXPECT_EQ(segments->begin(0), 0u);
  EXPECT_EQ(segments->begin(2), 4u);
}

TEST(Exits, RefusesThoseInAnotherOrderThanTheirDepth) {
  GraphParts parts = three_exits();
  parts.nodes[5] = make_node("exit1", "Identity", {"vc"}, {"e1"});
  parts.nodes[3] = make_node("exit3", "Tanh", {"va"}, {"e3"});
  parts.outputs = {"e1", "vb"};
  const auto segments = exit_segments(Graph::create(parts).value());
  ASSERT_EQ(segments.code(), Code::invalid_argument);
  EXPECT_NE(segments.error().message.find("exit 'vb'"), std::string::npos) << segments.error().message;
}

TEST(Exits, LeftOutLeaveTheLast) {
  const Graph whole = without_early_exits(Graph::create(three_exits()).value());
  EXPECT_EQ(whole.outputs(), Names{"e3"});
  EXPECT_EQ(names_of(whole), (Names{"a", "b", "c", "exit3"}));
  EXPECT_EQ(whole.name(), "exits");
}

}  // namespace
}  // namespace mangrove
