#include "mangrove/graph/split.h"

#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

using Names = std::vector<std::string>;

/// small_network() with the probabilities as its only output.
Graph chain() {
  GraphParts parts = testing::small_network();
  parts.outputs = {"probabilities"};
  return Graph::create(std::move(parts)).value();
}

Names nodes_of(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

TEST(Split, HalvesHaveTheirOwnNodesAndParameters) {
  const auto halves = split_behind(chain(), "pool");
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  EXPECT_EQ(nodes_of(halves->front), (Names{"conv", "relu", "pool"}));
  EXPECT_EQ(nodes_of(halves->back), (Names{"reshape", "fc", "softmax"}));
  EXPECT_EQ(halves->front.outputs(), Names{"p1"});
  EXPECT_EQ(halves->back.inputs()[0], std::pair(std::string("p1"), halves->front.value("p1")));
  EXPECT_EQ(halves->front.parameters(), (Names{"conv.weight", "conv.bias"}));
  EXPECT_EQ(halves->back.parameters(), (Names{"fc.weight", "fc.bias"}));
}

TEST(Split, JoinedHalvesAreTheWhole) {
  const Graph whole = chain();
  const auto halves = split_behind(whole, "relu");
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  const auto joined = join(halves->front, halves->back);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(encode_onnx(*joined), encode_onnx(whole));
}

TEST(Split, WhatBelongsToNeitherSideIsAnError) {
  const auto refused = [](const Graph& graph, const char* node) {
    const auto halves = split_behind(graph, node);
    EXPECT_FALSE(halves.ok()) << node;
    return halves.ok() ? Error{} : halves.error();
  };
  EXPECT_EQ(refused(chain(), "pol").code, Code::not_found);
  EXPECT_NE(refused(chain(), "pol").message.find("did you mean 'pool'?"), std::string::npos);
  EXPECT_NE(refused(chain(), "softmax").message.find("nothing lies behind it"), std::string::npos);
  const Graph branches = Graph::create(testing::two_branches()).value();
  EXPECT_NE(refused(branches, "relu").message.find("cannot be cut behind node 'relu': value 'x' is used behind it too"),
            std::string::npos);
  const Graph two_outputs = Graph::create(testing::small_network()).value();  // what relu gives is one of them
  EXPECT_NE(refused(two_outputs, "pool").message.find("value 'r1' is used behind it too"), std::string::npos);
}

TEST(Split, ParametersOfBothSidesAreAnError) {
  GraphParts parts = testing::two_branches();
  parts.nodes = {testing::make_node("first", "Gemm", {"x", "shared"}, {"l"}),
                 testing::make_node("second", "Gemm", {"l", "shared"}, {"y"})};
  const auto halves = split_behind(Graph::create(std::move(parts)).value(), "first");
  ASSERT_FALSE(halves.ok());
  EXPECT_NE(halves.error().message.find("parameter 'shared' is used on both sides"), std::string::npos);
}

TEST(Split, GraphsThatDoNotMeetAreNotJoined) {
  const auto halves = split_behind(chain(), "pool");
  const auto joined = join(halves->back, halves->front);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove
