#include "mangrove/graph/views.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using testing::make_node;

/// An image of 1 x 4 x 2 in two views, rows 0 and 1 and rows 2 and 3, that are added; and a slice of the sum.
GraphParts two_views() {
  const auto one = [](std::int64_t value) { return Tensor::of<std::int64_t>(Shape{1}, {value}); };
  GraphParts parts;
  parts.name = "views";
  parts.inputs = {{"x", {DType::f32, {kBatch, 1, 4, 2}}}};
  parts.outputs = {"part"};
  parts.initializers = {{"0", one(0)}, {"1", one(1)}, {"2", one(2)}, {"4", one(4)}};
  parts.nodes = {make_node("upper", "Slice", {"x", "0", "2", "2"}, {"u"}),
                 make_node("lower", "Slice", {"x", "2", "4", "2"}, {"l"}), make_node("sum", "Add", {"u", "l"}, {"s"}),
                 make_node("part", "Slice", {"s", "0", "1", "2"}, {"part"})};
  return parts;
}

const Node& node_of(const Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.nodes(), name, &Node::name);
}

TEST(Views, AreTheSlicesOfTheImage) {
  EXPECT_EQ(views_of(Graph::create(two_views()).value()), (std::vector<std::string>{"upper", "lower"}));
  EXPECT_TRUE(views_of(Graph::create(testing::small_network()).value()).empty());
}

TEST(Views, OneThatIsLostIsMultipliedByZero) {
  const Graph graph = Graph::create(two_views()).value();
  const auto lost = without_views(graph, "2");
  ASSERT_TRUE(lost.ok()) << lost.error().message;
  const Node& cleared = node_of(*lost, "lower.lost");
  EXPECT_EQ(cleared.op, "Mul");
  EXPECT_EQ(cleared.inputs[0], node_of(*lost, "lower").outputs[0]);
  EXPECT_EQ(lost->initializers().at(cleared.inputs[1]).as<float>()[0], 0);
  EXPECT_EQ(node_of(*lost, "sum").inputs, (std::vector<std::string>{"u", cleared.outputs[0]}));
  EXPECT_EQ(views_of(*lost), views_of(graph)) << "the views keep their numbers";
  EXPECT_EQ(without_views(graph, "")->nodes().size(), graph.nodes().size());
}

TEST(Views, WrongNumbersAreRefused) {
  const Graph graph = Graph::create(two_views()).value();
  const auto error = [](const Graph& of, const std::string& lost) {
    const auto made = without_views(of, lost);
    EXPECT_EQ(made.code(), Code::invalid_argument) << lost;
    return made.ok() ? "" : made.error().message;
  };
  for (const char* lost : {"0", "3", "-1", "1.5", "x", "1,", ",", "1;2", "99999999999999999999"})
    EXPECT_NE(error(graph, lost).find("1 to 2"), std::string::npos) << lost;
  EXPECT_NE(error(graph, "1,1").find("twice"), std::string::npos);
  EXPECT_NE(error(graph, "1,2").find("none is left"), std::string::npos);
  EXPECT_NE(error(Graph::create(testing::small_network()).value(), "1").find("does not take its image apart"),
            std::string::npos);
}

}  // namespace
}  // namespace mangrove
