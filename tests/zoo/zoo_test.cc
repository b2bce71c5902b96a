#include "mangrove/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/operator.h"

namespace mangrove::zoo {
namespace {

/// All parameters and states of a part are those of the whole.
bool has_weights_of(const Graph& part, const Graph& whole) {
  std::vector<std::string> names = part.parameters();
  const std::vector<std::string> states = part.states();
  names.insert(names.end(), states.begin(), states.end());
  return std::ranges::all_of(names, [&](const std::string& name) {
    const Tensor &one = part.initializers().at(name), &other = whole.initializers().at(name);
    return one.shape() == other.shape() &&
           std::memcmp(one.data(), other.data(), static_cast<std::size_t>(other.bytes())) == 0;
  });
}

/// The same, and neither has others.
bool same_weights(const Graph& a, const Graph& b) {
  return a.parameters() == b.parameters() && a.states() == b.states() && has_weights_of(a, b);
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

std::string test_name(std::string name) {
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

const ModelEntry& entry_of(std::string_view name) {
  return *std::ranges::find(models(), name, &ModelEntry::name);
}

/// A small sample of the kind that the model takes.
Shape small_sample(std::string_view name) {
  return entry_of(name).sample_shape.rank() == 2 ? Shape{3, 20} : Shape{3, 32, 40};
}

TEST(Zoo, KnowsTheNamesOfItsModelsWhateverTheSamplesAre) {
  for (const char* name : {"lenet", "mlp-16", "resnet-20", "ddnn-6", "lstm-8-1", "gru"})
    EXPECT_TRUE(check_model_name(name).ok()) << name;
  for (const char* name : {"lenett", "resnet-21", "vgg-12", "lstm-0", "lenet-5", ""})
    EXPECT_EQ(check_model_name(name).code(), Code::not_found) << name;
  EXPECT_EQ(check_model_name("resnet-21").error().message, build_model("resnet-21", {}).error().message);
}

TEST(Zoo, ListsEachModelOnceInTheOrderOfTheFamilies) {
  auto names = model_names();
  std::vector<std::string_view> families;
  for (const std::string& name : names) {
    ASSERT_NE(find_family(name), nullptr) << name;
    const std::string_view stem = find_family(name)->stem;
    if (families.empty() || families.back() != stem) families.push_back(stem);
  }
  std::vector<std::string_view> expected;
  for (const ModelFamily& family : model_families()) expected.push_back(family.stem);
  EXPECT_EQ(families, expected);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, TakesSmallSamplesAndGivesLogits) {
  const Shape sample = small_sample(GetParam());
  const Graph graph = build(GetParam(), {.sample_shape = sample, .classes = 7});
  EXPECT_EQ(graph.name(), GetParam());
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].first, "input");
  std::vector<std::int64_t> dims = sample.dims();
  dims.insert(dims.begin(), kBatch);
  EXPECT_EQ(graph.inputs()[0].second, (ValueInfo{DType::f32, Shape(dims)}));
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {  // those before it are exits
    EXPECT_EQ(graph.value(graph.outputs()[i]), (ValueInfo{DType::f32, {kBatch, 7}}));
    const bool is_last = i + 1 == graph.outputs().size();
    EXPECT_EQ(graph.outputs()[i], is_last ? "logits" : "exit" + std::to_string(i + 1));
  }
}

TEST_P(EveryModel, IsTheSameFromTheSameSeedOnly) {
  ModelOptions options{.sample_shape = small_sample(GetParam()), .seed = 5};
  const Graph graph = build(GetParam(), options);
  EXPECT_TRUE(same_weights(graph, build(GetParam(), options)));
  options.seed = 6;
  EXPECT_FALSE(same_weights(graph, build(GetParam(), options)));
}

TEST_P(EveryModel, SurvivesOnnx) {
  const Graph graph = build(GetParam(), {.sample_shape = small_sample(GetParam())});
  const auto parsed = parse_onnx(encode_onnx(graph));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->parameters(), graph.parameters());
  EXPECT_EQ(parsed->states(), graph.states());
  EXPECT_TRUE(same_weights(graph, *parsed));
}

TEST_P(EveryModel, RefusesSamplesThatItCannotTake) {
  for (const Shape& shape : {Shape{}, Shape{1, 0, 28}, Shape{1, 28, -28}, Shape{1, 1 << 20, 1 << 20}, Shape{0, 20}}) {
    const auto graph = build_model(GetParam(), {.sample_shape = shape});
    ASSERT_FALSE(graph.ok()) << to_string(shape);
    EXPECT_EQ(graph.code(), Code::invalid_argument);
    EXPECT_NE(graph.error().message.find("model '" + GetParam() + "'"), std::string::npos) << graph.error().message;
  }
  EXPECT_EQ(build_model(GetParam(), {.sample_shape = small_sample(GetParam()), .classes = 0}).code(),
            Code::invalid_argument);
}

TEST_P(EveryModel, TakesOnePixelOrSaysWhatDoesNotFit) {
  const Shape sample = small_sample(GetParam()).rank() == 2 ? Shape{1, 1} : Shape{1, 1, 1};
  const auto graph = build_model(GetParam(), {.sample_shape = sample, .classes = 1});
  if (graph.ok()) return;
  EXPECT_EQ(graph.code(), Code::invalid_argument);
  EXPECT_NE(graph.error().message.find("1, 1"), std::string::npos) << graph.error().message;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(model_names()),
                         [](const auto& instance) { return test_name(instance.param); });

TEST(Zoo, NamesOutsideOfWhatAFamilyTakesAreRefused) {
  for (const char* name : {"mlp-0",
                           "mlp-128-",
                           "mlp-x",
                           "lenet-5",
                           "alexnet-2",
                           "vgg",
                           "vgg-12",
                           "vgg-16-bn",
                           "resnet",
                           "resnet-33",
                           "resnet-20-c",
                           "resnet-34-b",
                           "resnet-20-cifar",
                           "wrn-28",
                           "wrn-27-10",
                           "wrn-28-0",
                           "mobilenet-0",
                           "mobilenet-1e9",
                           "mobilenet-nan",
                           "mobilenet-0.5-1-1",
                           "mobilenetv2-x",
                           "shufflenet-v1-g5",
                           "shufflenet-v1-3",
                           "shufflenet-v2-0.7",
                           "squeezenet-1.1-x",
                           "densenet-bc-100",
                           "densenet-bc-99-12",
                           "densenet-122",
                           "ddnn",
                           "ddnn-0",
                           "ddnn-6-sum",
                           "ddnn-6-max-sum",
                           "ddnn-6-max-max-max",
                           "lstm-0",
                           "lstm-8-9",
                           "gru-8-1-1"}) {
    const bool is_window = std::string_view(name).starts_with("lstm") || std::string_view(name).starts_with("gru");
    const auto graph = build_model(name, {.sample_shape = is_window ? Shape{1, 8} : Shape{1, 28, 28}});
    ASSERT_FALSE(graph.ok()) << name;
    EXPECT_EQ(graph.code(), Code::not_found) << name;
    const std::string pattern(find_family(name)->pattern);
    EXPECT_NE(graph.error().message.find(pattern), std::string::npos) << graph.error().message;
  }
}

TEST(Zoo, NamesThatOnlyThePatternGivesAreBuilt) {
  for (const char* name : {"mlp-7", "vgg-13", "resnet-14", "resnet-14-b", "resnet-18-cifar", "wrn-10-2",
                           "mobilenet-0.25-0.4", "mobilenetv2-0.35", "shufflenet-v1-g8", "shufflenet-v2-2.0",
                           "densenet-bc-22-8", "ddnn-1", "ddnn-4-concat-average"}) {
    EXPECT_EQ(build(name, {.sample_shape = {3, 32, 32}, .classes = 3}).value("logits").shape, (Shape{kBatch, 3}));
  }
  for (const char* name : {"lstm-8", "gru-8-3"})
    EXPECT_EQ(build(name, {.sample_shape = {3, 16}, .classes = 3}).value("logits").shape, (Shape{kBatch, 3}));
}

TEST(Zoo, ModelsThatNoFileCanHoldAreRefusedBeforeTheyAreAllocated) {
  const auto graph = build_model("mlp-65536-65536", {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::invalid_argument);
  EXPECT_NE(graph.error().message.find("ONNX"), std::string::npos) << graph.error().message;
}

TEST(Zoo, UnknownModelSuggestsTheNearest) {
  const auto graph = build_model("lenett", {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::not_found);
  EXPECT_NE(graph.error().message.find("did you mean 'lenet'?"), std::string::npos) << graph.error().message;
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
    EXPECT_TRUE(has_weights_of(*front, graph) && has_weights_of(*back, graph)) << cut;
  }
}

}  // namespace
}  // namespace mangrove::zoo
