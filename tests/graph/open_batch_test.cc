#include "mangrove/graph/open_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::make_node;

Tensor sizes_of(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

/// A network of one input "x", the nodes in order; each gives a value of its own name.
class FixedNetwork {
 public:
  explicit FixedNetwork(const Shape& x) { parts_.inputs = {{"x", {DType::f32, x}}}; }

  FixedNetwork& weights(const std::string& name, const Shape& shape) {
    parts_.initializers.emplace(name, Tensor(DType::f32, shape));
    return *this;
  }
  FixedNetwork& node(const std::string& op, std::vector<std::string> inputs, const std::string& name,
                     std::map<std::string, Attribute> attributes = {}) {
    parts_.nodes.push_back(make_node(name, op, std::move(inputs), {name}, std::move(attributes)));
    return *this;
  }
  FixedNetwork& reshape(const std::string& from, const Ints& sizes, const std::string& name) {
    parts_.initializers.emplace(name + ".sizes", sizes_of(sizes));
    return node("Reshape", {from, name + ".sizes"}, name);
  }
  Result<Graph> open() {
    parts_.outputs = {parts_.nodes.back().outputs[0]};
    MG_TRY(const Graph graph, Graph::create(parts_));
    return open_batch(graph);
  }

 private:
  GraphParts parts_;
};

void expect_refused(const Result<Graph>& graph, const std::string& why) {
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find(why), std::string::npos) << graph.error().message;
}

TEST(OpenBatch, AReshapeFollowsTheBatch) {
  const auto graph = FixedNetwork({1, 2, 4, 4})
                         .weights("w", {3, 2, 3, 3})
                         .weights("d", {12, 5})
                         .node("Conv", {"x", "w"}, "c")
                         .reshape("c", {1, 12}, "f")
                         .node("MatMul", {"f", "d"}, "y")
                         .open();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->inputs()[0].second.shape, (Shape{kBatch, 2, 4, 4}));
  EXPECT_EQ(graph->value("f").shape, (Shape{kBatch, 12}));
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 5}));
  EXPECT_FALSE(graph->initializers().contains("f.sizes")) << "what nobody reads is gone";
}

// A class token of one sample is joined to the patches of each.
TEST(OpenBatch, WhatIsJoinedToSamplesIsRepeated) {
  const auto graph = FixedNetwork({1, 4, 6})
                         .weights("token", {1, 1, 6})
                         .node("Concat", {"token", "x"}, "y", {{"axis", std::int64_t{1}}})
                         .open();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 5, 6}));
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->nodes()[0].op, "Expand");
}

// [T, 1, h d] to [T, h, d]: either the h or the T places are each sample's; only the one that MatMul can take fits.
TEST(OpenBatch, AnotherShapeIsTriedWhereTheFirstDoesNotFit) {
  const auto graph = FixedNetwork({1, 5, 8})
                         .node("Transpose", {"x"}, "t", {{"perm", Ints{1, 0, 2}}})
                         .reshape("t", {5, 4, 2}, "split")
                         .node("Transpose", {"split"}, "q", {{"perm", Ints{1, 0, 2}}})
                         .node("Transpose", {"split"}, "k", {{"perm", Ints{1, 2, 0}}})
                         .node("MatMul", {"q", "k"}, "scores")
                         .node("MatMul", {"scores", "q"}, "mixed")
                         .node("Transpose", {"mixed"}, "back", {{"perm", Ints{1, 0, 2}}})
                         .weights("w", {8, 3})
                         .reshape("back", {5, 8}, "rows")
                         .node("MatMul", {"rows", "w"}, "out")
                         .reshape("out", {5, 1, 3}, "sequence")
                         .node("Transpose", {"sequence"}, "y", {{"perm", Ints{1, 0, 2}}})
                         .open();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("scores").shape, (Shape{-4, 5, 5}));
  EXPECT_EQ(graph->value("rows").shape, (Shape{-5, 8}));
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 5, 3}));
}

TEST(OpenBatch, AMeanOverTheBatchIsRefused) {
  expect_refused(FixedNetwork({1, 5}).node("ReduceMean", {"x"}, "y", {{"axes", Ints{0}}}).open(),
                 "node 'y' (ReduceMean): output 'y' would be one for all samples of a batch");
}

TEST(OpenBatch, ASampleTakenOutOfItsBatchIsRefused) {
  FixedNetwork network({1, 5});
  expect_refused(network.reshape("x", {5}, "f").node("Softmax", {"f"}, "y").open(), "is the batch");
}

TEST(OpenBatch, AnOutputOfOneSampleInSeveralRowsIsRefused) {
  FixedNetwork network({1, 5, 3});
  expect_refused(network.reshape("x", {5, 3}, "y").open(), "output 'y' would be [5N, 3] for N samples");
}

TEST(OpenBatch, AnOpenBatchOrAnotherSizeIsNoBatchOfOne) {
  for (const Shape& x : {Shape{kBatch, 5}, Shape{2, 5}, Shape{}}) {
    const auto graph = FixedNetwork(x).node("Relu", {"x"}, "y").open();
    ASSERT_FALSE(graph.ok()) << to_string(x);
    EXPECT_EQ(graph.code(), Code::failed_precondition);
  }
}

}  // namespace
}  // namespace mangrove
