#include "mangrove/zoo/new_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "mangrove/graph/split.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {
namespace {

Graph build_headed(std::string_view name, const Shape& sample, std::int64_t classes = 20) {
  auto graph = build_model(name, {.sample_shape = sample, .classes = classes});
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

TEST(NewHead, KeepsTheBackboneForOtherSamplesAndClasses) {
  for (const char* name : {"mobilenetv2-0.25", "resnet-18", "mobilenet-0.5"}) {
    const Graph before = build_headed(name, {3, 64, 64});
    const auto graph = with_new_head(before, {3, 96, 48}, 7, 1);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().message;
    EXPECT_EQ(graph->inputs()[0].second.shape, (Shape{kBatch, 3, 96, 48})) << name;
    ASSERT_EQ(graph->outputs().size(), 1u);
    EXPECT_EQ(graph->value(graph->outputs()[0]).shape, (Shape{kBatch, 7})) << name;
    const auto halves = split_behind(*graph, kHeadFeatures);
    ASSERT_TRUE(halves.ok()) << halves.error().message;
    EXPECT_EQ(halves->back.parameters(), (std::vector<std::string>{"head.fc.weight", "head.fc.bias"}));
    for (const std::string& parameter : halves->front.parameters())
      EXPECT_TRUE(equal(graph->initializers().at(parameter), before.initializers().at(parameter))) << parameter;
    EXPECT_EQ(halves->front.parameters().size(), before.parameters().size() - 2) << "all but those of the old head";
  }
}

TEST(NewHead, DependsOnItsSeed) {
  const Graph network = build_headed("mobilenetv2-0.25", {3, 32, 32});
  const auto weights = [&](std::uint64_t seed) {
    return with_new_head(network, {3, 32, 32}, 5, seed)->initializers().at("head.fc.weight");
  };
  EXPECT_TRUE(equal(weights(1), weights(1)));
  EXPECT_FALSE(equal(weights(1), weights(2)));
}

TEST(NewHead, IsReplacedByAnotherOne) {
  const auto first = with_new_head(build_headed("mobilenetv2-0.25", {3, 32, 32}), {3, 32, 32}, 5, 1);
  const auto second = with_new_head(*first, {3, 32, 32}, 9, 1);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->nodes().size(), first->nodes().size());
  EXPECT_EQ(second->value(second->outputs()[0]).shape, (Shape{kBatch, 9}));
}

TEST(NewHead, TakesTheMeanOverHeightAndWidthForPooling) {
  GraphParts parts = build_headed("mobilenetv2-0.25", {3, 32, 32}).parts();
  const auto pool = std::ranges::find(parts.nodes, "GlobalAveragePool", &Node::op);
  pool->op = "ReduceMean";
  pool->attributes["axes"] = std::vector<std::int64_t>{-1, -2};
  parts.metadata["mangrove.augmentation"] = "flip";
  const auto graph = with_new_head(Graph::create(std::move(parts)).value(), {3, 32, 32}, 3, 1);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(std::ranges::none_of(graph->nodes(), [](const Node& node) { return node.op == "ReduceMean"; }));
  EXPECT_TRUE(graph->metadata().empty()) << "they were of other data";
}

TEST(NewHead, ATransformerKeepsAllButItsLastDenseLayer) {
  const Graph before = build_headed("vit-ti-8", {3, 16, 16});
  const auto graph = with_new_head(before, {3, 16, 16}, 7, 1);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value(graph->outputs()[0]).shape, (Shape{kBatch, 7}));
  EXPECT_EQ(graph->initializers().at("head.fc.weight").shape(), (Shape{7, 192}));
  EXPECT_EQ(graph->parameters().size(), before.parameters().size());
  const auto other = with_new_head(before, {3, 32, 32}, 7, 1);
  ASSERT_FALSE(other.ok()) << "its positions are for other samples";
  EXPECT_NE(other.error().message.find("does not take [3, 32, 32]"), std::string::npos) << other.error().message;
}

TEST(NewHead, NetworksThatDoNotFitAreRefusedByName) {
  const auto without = with_new_head(build_headed("lenet", {1, 28, 28}), {1, 28, 28}, 3, 1);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.code(), Code::invalid_argument);
  EXPECT_NE(without.error().message.find("graph 'lenet': it has no global average pooling"), std::string::npos);
  const auto grey = with_new_head(build_headed("mobilenetv2-0.25", {3, 32, 32}), {1, 28, 28}, 3, 1);
  ASSERT_FALSE(grey.ok());
  EXPECT_EQ(grey.code(), Code::invalid_argument);
  EXPECT_NE(grey.error().message.find("it is for samples [N, 3, 32, 32], and does not take [1, 28, 28]"),
            std::string::npos)
      << grey.error().message;
}

}  // namespace
}  // namespace mangrove::zoo
