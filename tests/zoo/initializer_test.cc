#include "mangrove/zoo/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

Moments moments(std::span<const float> values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) m.mean += v / n;
  for (const float v : values) m.deviation += (v - m.mean) * (v - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  for (const float v : values) m.largest = std::max(m.largest, std::abs(static_cast<double>(v)));
  return m;
}

/// A standard normal cut at two deviations has this deviation.
constexpr double kTruncated = 0.8796256610342398;

struct Case {
  const char* model;
  Shape sample;
  const char* weights;
  double deviation;
  double most;  // no weight is larger; 0: without limit
};

class Weights : public ::testing::TestWithParam<Case> {};

TEST_P(Weights, StartAsThePaperSays) {
  const auto graph = build_model(GetParam().model, {.sample_shape = GetParam().sample, .seed = 3});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto weights = graph->initializers().at(GetParam().weights).as<float>();
  ASSERT_GE(weights.size(), 500u);
  const Moments m = moments(weights);
  const double deviation = GetParam().deviation;
  const auto n = static_cast<double>(weights.size());
  EXPECT_NEAR(m.mean, 0, 4 * deviation / std::sqrt(n));
  EXPECT_NEAR(m.deviation, deviation, 4 * deviation / std::sqrt(n));  // of a normal: deviation / sqrt(2 n)
  const double most = GetParam().most > 0 ? GetParam().most * 1.000001 : std::numeric_limits<double>::max();
  EXPECT_LE(m.largest, most);
}

const Shape kMnist{1, 28, 28}, kCifar{3, 32, 32};

INSTANTIATE_TEST_SUITE_P(
    Models, Weights,
    ::testing::Values(
        Case{"lenet", kMnist, "fc1.weight", std::sqrt(2.0 / 1300), std::sqrt(6.0 / 1300)},
        Case{"mlp", kMnist, "fc2.weight", std::sqrt(2.0 / 192), std::sqrt(6.0 / 192)},
        Case{"alexnet", kCifar, "conv2.weight", 0.01, 0},  //
        Case{"vgg-11", kCifar, "conv2_1.weight", std::sqrt(2.0 / (192 * 9)), std::sqrt(6.0 / (192 * 9))},
        Case{"resnet-20", kCifar, "stage3.block1.conv1.weight", std::sqrt(2.0 / (32 * 9)), 0},
        Case{"resnet-18", kCifar, "stage2.block1.conv1.weight", std::sqrt(2.0 / (64 * 9)), 0},
        Case{"wrn-10-2", kCifar, "stage2.block1.conv1.weight", std::sqrt(2.0 / (64 * 9)), 0},
        Case{"mobilenet-0.5", kCifar, "block3.pointwise.weight", 0.09 * kTruncated, 0.18},
        Case{"mobilenetv2", kCifar, "block3.expand.weight", 0.09 * kTruncated, 0.18},
        Case{"shufflenet-v1-g3", kCifar, "stage3.unit2.conv1.weight", 3.0 / 480, 0},
        Case{"shufflenet-v2-1.0", kCifar, "stage3.unit2.conv1.weight", 1.0 / 116, 0},
        Case{"squeezenet-1.1", kCifar, "fire3.expand3x3.weight", std::sqrt(1.0 / (16 * 9)), std::sqrt(3.0 / (16 * 9))},
        Case{"xception", kCifar, "block2.conv1.pointwise.weight", std::sqrt(2.0 / 384), std::sqrt(6.0 / 384)},
        Case{"densenet-bc-22-8", kCifar, "block2.layer1.conv2.weight", std::sqrt(2.0 / (32 * 9)), 0},
        Case{"lstm-64", {3, 8}, "layer2.weight", std::sqrt(2.0 / 128), std::sqrt(6.0 / 128)}),
    [](const auto& instance) {
      std::string name = instance.param.model;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST(Initializer, BiasesStartAtZeroUnlessThePaperSaysOtherwise) {
  const Graph lenet = build_model("lenet", {}).value();
  for (const float b : lenet.initializers().at("fc1.bias").as<float>()) EXPECT_EQ(b, 0);
  const Graph alexnet = build_model("alexnet", {.sample_shape = kCifar}).value();
  for (const char* layer : {"conv1", "conv3", "fc8"})
    for (const float b : alexnet.initializers().at(layer + std::string(".bias")).as<float>()) EXPECT_EQ(b, 0) << layer;
  for (const char* layer : {"conv2", "conv4", "conv5", "fc6", "fc7"})
    for (const float b : alexnet.initializers().at(layer + std::string(".bias")).as<float>()) EXPECT_EQ(b, 1) << layer;
  const Graph lstm = build_model("lstm-4-1", {.sample_shape = {3, 8}}).value();
  const auto bias = lstm.initializers().at("layer1.bias").as<float>();  // input, output, forget, cell; then recurrent
  for (std::size_t i = 0; i < bias.size(); ++i) EXPECT_EQ(bias[i], i >= 8 && i < 12 ? 1 : 0) << i;
}

TEST(Initializer, BatchNormalizationStartsAsTheIdentity) {
  const Graph graph = build_model("resnet-20", {.sample_shape = kCifar}).value();
  for (const auto& [suffix, expected] :
       std::vector<std::pair<std::string, float>>{{"scale", 1}, {"shift", 0}, {"mean", 0}, {"variance", 1}}) {
    for (const float v : graph.initializers().at("conv1.bn." + suffix).as<float>()) EXPECT_EQ(v, expected) << suffix;
  }
  EXPECT_EQ(graph.states().size(), 2 * 19u);
}

TEST(Initializer, OrthogonalMatricesHaveOrthonormalRows) {
  for (const std::int64_t n : {1, 2, 7, 64}) {
    Random random(5);
    std::vector<float> q(static_cast<std::size_t>(n * n));
    initialize_orthogonal(n, random, q);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (std::int64_t k = 0; k < n; ++k)
          product += static_cast<double>(q[static_cast<std::size_t>(i * n + k)]) *
                     static_cast<double>(q[static_cast<std::size_t>(j * n + k)]);
        EXPECT_NEAR(product, i == j ? 1 : 0, 1e-6) << n << " " << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace mangrove::zoo
