#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/multiply_adds.h"
#include "mangrove/graph/operator.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {
namespace {

/// What the paper (or, where noted, its authors' code) says, and how exactly: half a unit of its last digit, or what
/// the note explains.
struct Published {
  double parameters;
  double within;
  double multiply_adds = 0;  // 0: not published
  double multiply_adds_within = 0;
};

const std::map<std::string, Published> kPublished = {
    {"mlp", {109'386, 0, 109'184, 0}},      // 784 128 + 128 64 + 64 10, and as many biases as units
    {"lenet", {431'080, 0, 2'293'000, 0}},  // of the Caffe example
    {"alexnet", {60e6, 1e6, 724e6, 1e6}},   // "60 million parameters"; multiply-adds: Caffe's bvlc_alexnet
    {"vgg-11", {133e6, 0.5e6}},
    {"vgg-16", {138e6, 0.5e6, 15.5e9, 0.05e9}},
    {"resnet-20", {0.27e6, 0.005e6, 40.8e6, 0.4e6}},  // multiply-adds: Wu et al., BlockDrop, CVPR 2018 and others
    {"resnet-32", {0.46e6, 0.005e6}},
    {"resnet-44", {0.66e6, 0.005e6}},
    {"resnet-56", {0.85e6, 0.006e6, 125e6, 2e6}},
    {"resnet-110", {1.7e6, 0.05e6, 253e6, 3e6}},
    {"resnet-18", {11.69e6, 0.005e6, 1.8e9, 0.05e9}},
    {"resnet-34", {21.80e6, 0.005e6, 3.6e9, 0.1e9}},
    {"resnet-50", {25.56e6, 0.005e6, 4.1e9, 0.05e9}},    // strides in the 3x3 convolutions
    {"resnet-152", {60.19e6, 0.005e6, 11.5e9, 0.05e9}},  // 11.3 G with strides in the 1x1 convolutions
    {"wrn-16-4", {2.8e6, 0.06e6}},
    {"wrn-28-10", {36.5e6, 0.05e6, 5.2e9, 0.06e9}},
    {"mobilenet", {4.2e6, 0.05e6, 569e6, 0.5e6}},
    {"mobilenet-0.5", {1.3e6, 0.05e6, 149e6, 0.5e6}},
    {"mobilenet-1.0-0", {2.9e6, 0.05e6, 307e6, 1e6}},  // "shallow MobileNet"
    {"mobilenetv2", {3.45e6, 0.06e6, 300e6, 1e6}},     // "3.4" in the paper; 3.5 with batch normalization
    {"mobilenetv2-0.5", {1.95e6, 0.03e6, 97e6, 0.5e6}},
    {"shufflenet-v1-g3", {1.87e6, 0.05e6, 140e6, 4e6}},
    {"shufflenet-v2-0.5", {1.4e6, 0.05e6, 41e6, 0.6e6}},
    {"shufflenet-v2-1.0", {2.3e6, 0.05e6, 146e6, 1.2e6}},
    {"squeezenet-1.1", {1.24e6, 0.005e6, 350e6, 3e6}},
    {"xception", {22'855'952, 0, 8.4e9, 0.05e9}},
    {"densenet-bc-100-12", {0.8e6, 0.05e6}},
    {"densenet-121", {8.0e6, 0.05e6, 2.85e9, 0.05e9}},
    {"darknet-19", {20.8e6, 0.05e6, 2.79e9, 0.005e9}},  // "5.58 billion operations", two for a multiply-add
    {"mobilenetv3-large", {5.4e6, 0.1e6, 219e6, 3e6}},  // the rows of table 1 give 217 M
    {"mobilenetv3-small", {2.5e6, 0.05e6, 56e6, 1e6}},
    {"efficientnet-b0", {5.3e6, 0.05e6, 0.39e9, 0.005e9}},
    {"convnext-t", {28.6e6, 0.05e6, 4.5e9, 0.05e9}},
    {"vit-ti", {5.7e6, 0.05e6, 1.3e9, 0.05e9}},  // Touvron et al., table 1 and their code
    {"vit-s", {22e6, 0.5e6, 4.6e9, 0.05e9}},
    {"vit-b", {86e6, 1e6, 17.6e9, 0.1e9}},
    // 4 128 (9 + 128) and 4 128 (128 + 128) weights, each used in 128 steps, as many biases as ONNX has, and 128 6 + 6
    {"lstm", {70'144 + 131'072 + 2 * 1'024 + 774, 0, 128 * (70'144 + 131'072) + 768, 0}},
    {"gru", {52'608 + 98'304 + 2 * 768 + 774, 0, 128 * (52'608 + 98'304) + 768, 0}},
};

class Counts : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Counts, AreThoseOfTheTableAndOfThePaper) {
  const ModelEntry& entry = *std::ranges::find(models(), GetParam(), &ModelEntry::name);
  const auto graph = build_model(entry.name, {.sample_shape = entry.sample_shape, .classes = entry.classes});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->parameter_elements(), entry.parameters);
  EXPECT_EQ(multiply_adds(*graph, 1), entry.multiply_adds);
  EXPECT_EQ(multiply_adds(*graph, 3), 3 * entry.multiply_adds);
  const auto published = kPublished.find(std::string(entry.name));
  if (published == kPublished.end()) return;
  const Published& paper = published->second;
  EXPECT_NEAR(static_cast<double>(entry.parameters), paper.parameters, paper.within);
  if (paper.multiply_adds > 0) {
    EXPECT_NEAR(static_cast<double>(entry.multiply_adds), paper.multiply_adds, paper.multiply_adds_within);
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const ModelEntry& entry : models()) all.push_back(entry.name);
  return all;
}

std::string count_test_name(const ::testing::TestParamInfo<std::string_view>& instance) {
  std::string name(instance.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, Counts, ::testing::ValuesIn(names()), count_test_name);

TEST(Counts, EveryPublishedModelIsInTheTable) {
  for (const auto& published : kPublished) {
    const std::string& name = published.first;
    EXPECT_TRUE(std::ranges::any_of(models(), [&](const ModelEntry& entry) { return entry.name == name; })) << name;
  }
}

}  // namespace
}  // namespace mangrove::zoo
