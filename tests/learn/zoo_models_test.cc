#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

/// Small enough for the portable kernels.
struct Network {
  std::string name;
  Shape sample;
};

/// One network of each family: its smallest, or the first of its row. No network is built here, because each test is a
/// process of its own that begins with this list.
std::vector<Network> networks() {
  std::vector<Network> all = {
      {"mlp-16", {1, 6, 6}},
      {"lenet", {1, 28, 28}},
      {"alexnet", {3, 64, 64}},
      {"vgg-11", {3, 32, 32}},
      {"resnet-8", {3, 16, 16}},
      {"resnet-8-b", {3, 16, 16}},
      {"resnet-18", {3, 48, 48}},
      {"resnet-50-cifar", {3, 16, 16}},
      {"wrn-10-1", {3, 16, 16}},
      {"mobilenet-0.25-0", {3, 64, 64}},
      {"mobilenetv2-0.35", {3, 64, 64}},
      {"shufflenet-v1-g3", {3, 64, 64}},
      {"shufflenet-v2-0.5", {3, 64, 64}},
      {"squeezenet-1.1", {3, 64, 64}},
      {"xception", {3, 48, 48}},
      {"densenet-bc-22-8", {3, 16, 16}},
      {"densenet-121", {3, 64, 64}},
      {"lstm-16", {3, 12}},
      {"gru-16-1", {3, 12}},
  };
  std::set<std::string_view> families;
  for (const Network& network : all) families.insert(zoo::find_family(network.name)->stem);
  for (const zoo::ModelEntry& entry : zoo::models()) {
    if (!families.insert(zoo::find_family(entry.name)->stem).second) continue;
    all.push_back({std::string(entry.name), entry.sample_shape.rank() == 2 ? Shape{3, 12} : Shape{3, 32, 32}});
  }
  return all;
}

std::unique_ptr<Execution> execution_of(const Graph& graph, Mode mode, const std::string& backend,
                                        std::int64_t batch = 2) {
  const auto program = Program::compile(graph, {.mode = mode, .batch = batch, .backend = backend});
  MG_CHECK_MSG(program.ok(), program.error().message);
  auto execution = Execution::create(*program).value();
  Random random(7);
  for (float& x : execution->input<float>("input")) x = static_cast<float>(random.normal());
  return execution;
}

/// Random gradients at every output: a network with early exits has several.
void fill_output_gradients(const Graph& graph, Execution& execution) {
  Random random(8);
  for (const std::string& output : graph.outputs())
    for (float& g : execution.output_gradient<float>(output)) g = static_cast<float>(random.normal());
}

class ZooNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(ZooNetwork, GivesFiniteLogitsThatDifferBetweenSamplesTheSameOnEveryBackend) {
  const auto parsed = parse_onnx(
      encode_onnx(zoo::build_model(GetParam().name, {.sample_shape = GetParam().sample, .classes = 5}).value()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  std::vector<float> reference;
  for (const std::string& backend : backend_names()) {
    const auto execution = execution_of(*parsed, Mode::inference, backend);
    execution->forward();
    const auto logits = execution->output<float>("logits");
    float largest = 0;
    for (const float x : logits) {
      ASSERT_TRUE(std::isfinite(x)) << backend;
      largest = std::max(largest, std::abs(x));
    }
    EXPECT_FALSE(std::equal(logits.begin(), logits.begin() + 5, logits.begin() + 5)) << backend;
    if (reference.empty()) reference.assign(logits.begin(), logits.end());
    for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], reference[i], 2e-4f * largest) << backend;
  }
}

// Steps that run on slices of the batch are among them.
TEST_P(ZooNetwork, GradientsDoNotChangeOnceTheyAreReady) {
  const Graph graph = zoo::build_model(GetParam().name, {.sample_shape = GetParam().sample, .classes = 5}).value();
  const auto execution = execution_of(graph, Mode::training, "", 8);
  execution->forward();
  fill_output_gradients(graph, *execution);
  std::map<std::size_t, std::vector<float>> at_ready;
  const auto views = execution->parameters();
  execution->backward([&](std::size_t parameter) {
    const auto gradient = views[parameter].gradient;
    EXPECT_TRUE(at_ready.emplace(parameter, std::vector<float>(gradient.begin(), gradient.end())).second);
  });
  ASSERT_EQ(at_ready.size(), views.size());
  for (const auto& [parameter, gradient] : at_ready) {
    const std::vector<float> in_the_end(views[parameter].gradient.begin(), views[parameter].gradient.end());
    EXPECT_EQ(gradient, in_the_end) << views[parameter].name;
  }
}

TEST_P(ZooNetwork, GradientsReachEveryParameter) {
  const Graph graph = zoo::build_model(GetParam().name, {.sample_shape = GetParam().sample, .classes = 5}).value();
  const auto execution = execution_of(graph, Mode::training, "");
  execution->forward();
  fill_output_gradients(graph, *execution);
  execution->backward();
  for (const Execution::ParameterView& view : execution->parameters()) {
    double sum = 0;
    for (const float g : view.gradient) sum += std::abs(static_cast<double>(g));
    EXPECT_TRUE(std::isfinite(sum) && sum > 0) << view.name << " " << sum;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooNetwork, ::testing::ValuesIn(networks()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

}  // namespace
}  // namespace mangrove
