#include "mangrove/graph/sample_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::make_node;

/// Reshapes of x one after the other, each to a new shape; "T" swaps the first two dimensions.
struct Step {
  Ints shape;
  bool swaps = false;
};

Result<Shape> shape_after(const Shape& x, const std::vector<Step>& steps) {
  GraphParts parts;
  parts.inputs = {{"v0", {DType::f32, x}}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    if (steps[i].swaps) {
      parts.nodes.push_back(make_node(to + "!", "Transpose", {from}, {to}, {{"perm", Ints{1, 0, 2}}}));
      continue;
    }
    const Ints& dims = steps[i].shape;
    parts.initializers.emplace(to + "_shape",
                               Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(dims.size())}, dims));
    parts.nodes.push_back(make_node(to + "!", "Reshape", {from, to + "_shape"}, {to}));
  }
  parts.outputs = {"v" + std::to_string(steps.size())};
  MG_TRY(const Graph graph, Graph::create(std::move(parts)));
  return graph.value(graph.outputs()[0]).shape;
}

// A sequence [T, N, E] through attention: N h heads, then T N places, then the sequence again.
TEST(SampleOrder, PlacesOfASequenceMayBeMergedWithTheBatchAndTakenOutAgain) {
  const auto shape = shape_after({5, kBatch, 8}, {{{5, -1, 2}}, {{}, true}, {{}, true}, {{-1, 8}}, {{5, -1, 8}}});
  ASSERT_TRUE(shape.ok()) << shape.error().message;
  EXPECT_EQ(*shape, (Shape{5, kBatch, 8}));
}

TEST(SampleOrder, PlacesInFrontOfTheBatchAreNotTakenForPlacesBehindIt) {
  const auto shape = shape_after({5, kBatch, 8}, {{{-1, 8}}, {{-1, 5, 8}}});
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.code(), Code::unimplemented);
  EXPECT_NE(shape.error().message.find("node 'v2!' (Reshape): input [5N, 8] would become [N, 5, 8], which mixes the "
                                       "samples of the batch N"),
            std::string::npos)
      << shape.error().message;
}

TEST(SampleOrder, HeadsOfASampleAreNotTakenForPlacesInFrontOfTheBatch) {
  const auto shape = shape_after({kBatch, 5, 8}, {{{-1, 8}}, {{5, -1, 8}}});
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(shape.error().message.find("mixes the samples"), std::string::npos) << shape.error().message;
}

TEST(SampleOrder, ValuesInDifferentOrdersAreNotAdded) {
  GraphParts parts;
  parts.inputs = {{"a", {DType::f32, {kBatch, 5, 8}}}, {"b", {DType::f32, {5, kBatch, 8}}}};
  parts.initializers.emplace("flat", Tensor::of<std::int64_t>(Shape{2}, {-1, 8}));
  parts.nodes = {make_node("left", "Reshape", {"a", "flat"}, {"l"}),
                 make_node("right", "Reshape", {"b", "flat"}, {"r"}), make_node("sum", "Add", {"l", "r"}, {"y"})};
  parts.outputs = {"y"};
  const auto graph = Graph::create(std::move(parts));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("node 'sum' (Add): its inputs hold the samples of 5N places in different order"),
            std::string::npos)
      << graph.error().message;
}

}  // namespace
}  // namespace mangrove
