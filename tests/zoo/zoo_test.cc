#include "mangrove/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/operator.h"

namespace mangrove::zoo {
namespace {

bool same_weights(const Graph& a, const Graph& b) {
  return std::all_of(a.initializers().begin(), a.initializers().end(), [&b](const auto& entry) {
    const Tensor& other = b.initializers().at(entry.first);
    return entry.second.shape() == other.shape() &&
           std::memcmp(entry.second.data(), other.data(), static_cast<std::size_t>(other.bytes())) == 0;
  });
}

Graph build(std::string_view name, const ModelOptions& options = {}) {
  auto graph = build_model(name, options);
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.emplace_back(entry.name);
  return names;
}

TEST(Zoo, TableIsSorted) {
  const auto names = model_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_FALSE(names.empty());
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, TakesImagesAndGivesLogits) {
  const Graph graph = build(GetParam(), {.sample_shape = {3, 32, 40}, .classes = 7});
  EXPECT_EQ(graph.name(), GetParam());
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].first, "input");
  EXPECT_EQ(graph.inputs()[0].second, (ValueInfo{DType::f32, {kBatch, 3, 32, 40}}));
  EXPECT_EQ(graph.outputs(), std::vector<std::string>{"logits"});
  EXPECT_EQ(graph.value("logits"), (ValueInfo{DType::f32, {kBatch, 7}}));
}

TEST_P(EveryModel, IsTheSameFromTheSameSeedOnly) {
  const Graph graph = build(GetParam(), {.seed = 5});
  EXPECT_TRUE(same_weights(graph, build(GetParam(), {.seed = 5})));
  EXPECT_FALSE(same_weights(graph, build(GetParam(), {.seed = 6})));
}

TEST_P(EveryModel, SurvivesOnnx) {
  const Graph graph = build(GetParam());
  const auto parsed = parse_onnx(encode_onnx(graph));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->parameters(), graph.parameters());
  EXPECT_TRUE(same_weights(graph, *parsed));
}

TEST_P(EveryModel, RefusesSamplesThatAreNoImages) {
  for (const Shape& shape : {Shape{28, 28}, Shape{1, 0, 28}, Shape{1, 28, -28}, Shape{1, 1 << 20, 1 << 20}}) {
    const auto graph = build_model(GetParam(), {.sample_shape = shape});
    ASSERT_FALSE(graph.ok()) << to_string(shape);
    EXPECT_EQ(graph.code(), Code::invalid_argument);
    EXPECT_NE(graph.error().message.find("model '" + GetParam() + "'"), std::string::npos) << graph.error().message;
  }
  EXPECT_EQ(build_model(GetParam(), {.classes = 0}).code(), Code::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(model_names()),
                         [](const auto& instance) { return instance.param; });

TEST(Zoo, UnknownModelSuggestsTheNearest) {
  const auto graph = build_model("lenett", {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::not_found);
  EXPECT_NE(graph.error().message.find("did you mean 'lenet'?"), std::string::npos) << graph.error().message;
}

TEST(Mlp, HasTheParametersOfTheExample) {
  EXPECT_EQ(build("mlp").parameter_elements(), 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
}

TEST(LeNet, HasTheParametersOfTheExample) {
  const Graph graph = build("lenet");
  EXPECT_EQ(graph.parameter_elements(), 431080);
  EXPECT_EQ(graph.parameters(), (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                                          "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  EXPECT_EQ(graph.value("conv2.weight").shape, (Shape{50, 20, 5, 5}));
  EXPECT_EQ(graph.value("fc1.weight").shape, (Shape{500, 800}));
}

TEST(LeNet, CostsTheKnownMultiplyAdds) {
  const Graph graph = build("lenet");
  const std::map<std::string, double> multiply_adds = {
      {"conv1", 24 * 24 * 20 * 25}, {"conv2", 8 * 8 * 50 * 500}, {"fc1", 800 * 500}, {"fc2", 500 * 10}};
  double total = 0;
  Bytes parameters = 0;
  for (const Node& node : graph.nodes()) {
    const OperatorCost cost = node_cost(graph, node, 64);
    parameters += cost.parameters;
    const auto known = multiply_adds.find(node.name);
    if (known == multiply_adds.end()) continue;
    EXPECT_EQ(cost.flops, 64 * 2 * known->second) << node.name;
    total += cost.flops / 64 / 2;
  }
  EXPECT_EQ(total, 2293000);
  EXPECT_EQ(parameters, 4 * 431080);
}

TEST(LeNet, StartsWithGlorotUniformWeightsAndZeroBiases) {
  const Graph graph = build("lenet");
  const auto weights = graph.initializers().at("fc1.weight").as<float>();
  const double limit = std::sqrt(6.0 / (800 + 500));
  double sum = 0;
  double squares = 0;
  for (const float w : weights) {
    ASSERT_LE(std::abs(w), limit);
    sum += w;
    squares += static_cast<double>(w) * w;
  }
  const auto n = static_cast<double>(weights.size());
  EXPECT_NEAR(sum / n, 0, 4 * limit / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, limit * limit / 3, 0.01 * limit * limit / 3);
  for (const float b : graph.initializers().at("fc1.bias").as<float>()) EXPECT_EQ(b, 0);
}

TEST(LeNet, RefusesSamplesBelow16Pixels) {
  EXPECT_TRUE(build_model("lenet", {.sample_shape = {1, 16, 16}}).ok());
  const auto graph = build_model("lenet", {.sample_shape = {1, 15, 28}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::invalid_argument);
  EXPECT_NE(graph.error().message.find("model 'lenet': samples [1, 15, 28] are too small, the least is 16 x 16"),
            std::string::npos)
      << graph.error().message;
}

TEST(LeNet, EveryCutGivesTwoStagesThatFitTogether) {
  const Graph graph = build("lenet");
  const std::size_t n = graph.nodes().size();
  for (std::size_t cut = 1; cut < n; ++cut) {
    const auto front = graph.slice(0, cut);
    const auto back = graph.slice(cut, n);
    ASSERT_TRUE(front.ok() && back.ok()) << cut;
    ASSERT_EQ(back->inputs().size(), 1u) << cut;
    const auto& [name, info] = back->inputs()[0];
    EXPECT_EQ(front->outputs(), std::vector<std::string>{name});
    EXPECT_EQ(front->value(name), info);
    EXPECT_EQ(graph.value(name), info);
    EXPECT_EQ(front->inputs(), graph.inputs());
    EXPECT_EQ(back->outputs(), graph.outputs());
    EXPECT_EQ(front->nodes().size() + back->nodes().size(), n);
    EXPECT_EQ(front->initializers().size() + back->initializers().size(), graph.initializers().size()) << cut;
    std::vector<std::string> parameters = front->parameters();
    for (const std::string& parameter : back->parameters()) parameters.push_back(parameter);
    EXPECT_EQ(parameters, graph.parameters()) << cut;
    EXPECT_TRUE(same_weights(*front, graph) && same_weights(*back, graph)) << cut;
  }
}

}  // namespace
}  // namespace mangrove::zoo
