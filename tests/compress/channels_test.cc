#include "mangrove/compress/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "tests/compress/networks.h"
#include "tests/compress/workplaces.h"

#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {
namespace {

using Group = ChannelGroups::Group;

/// Every second group of each family.
std::vector<Group> half_of(const ChannelGroups& channels) {
  std::vector<Group> groups;
  for (const auto& family : channels.families())
    for (std::size_t i = 0; i < family.groups.size(); i += 2) groups.push_back(family.groups[i]);
  return groups;
}

/// The full network with all weights zero that a smaller one does not have any more behind lost channels. Which these
/// are is told by the weights themselves: they are random, so a filter of the smaller network is known by its numbers.
Graph masked(const Graph& full, const Graph& small) {
  std::map<std::string, Tensor> changed;
  for (const Node& node : small.nodes()) {
    if (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") continue;
    const std::string& name = node.inputs[1];
    const Tensor& before = full.initializers().at(name);
    const Tensor& after = small.initializers().at(name);
    const bool by_rows = node.op == "Conv" || node.int_or("transB", 0) == 1;
    const auto inputs = static_cast<std::size_t>(before.shape()[by_rows ? 1 : 0]);
    if (after.shape()[by_rows ? 1 : 0] == before.shape()[by_rows ? 1 : 0]) continue;
    const std::set<float> left(after.as<float>().begin(), after.as<float>().end());
    const auto weights = before.as<float>();
    const std::size_t filter = weights.size() / static_cast<std::size_t>(before.shape()[0]);
    const std::size_t each = filter / static_cast<std::size_t>(before.shape()[1]);
    const auto input_of = [&](std::size_t i) { return by_rows ? i % filter / each : i / filter; };
    std::vector<double> found(inputs), all(inputs);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ++all[input_of(i)];
      if (left.contains(weights[i])) ++found[input_of(i)];
    }
    Tensor zeros = before.clone();
    std::int64_t kept = 0;
    for (std::size_t input = 0; input < inputs; ++input) kept += found[input] > 0.2 * all[input] ? 1 : 0;
    EXPECT_EQ(kept, after.shape()[by_rows ? 1 : 0]) << name;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (found[input_of(i)] <= 0.2 * all[input_of(i)]) zeros.as<float>()[i] = 0;
    changed.emplace(name, zeros);
  }
  EXPECT_FALSE(changed.empty());
  return full.with_initializers(changed).value();
}

void expect_equal_to_masked(const Graph& full, const Graph& small, std::int64_t batch) {
  const Tensor x = random_input(full, batch, 5);
  const std::vector<float> expected = run(masked(full, small), x), found = run(small, x);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-5 * std::max(1.0f, largest)) << i;
}

Graph residual_network() {
  const std::map<std::string, Attribute> same = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  std::map<std::string, Attribute> depthwise = same;
  depthwise["group"] = std::int64_t{12};
  return NetworkWriter({kBatch, 3, 8, 8})
      .weights("w0", {8, 3, 3, 3})
      .weights("b0", {8})
      .weights("w1", {8, 8, 3, 3})
      .weights("w2", {4, 8, 3, 3})
      .weights("w3", {12, 1, 3, 3})
      .weights("b3", {12})
      .weights("w4", {6, 12, 1, 1})
      .weights("scale", {1, 6, 1, 1})
      .weights("w5", {5, 6 * 16})
      .weights("b5", {5})
      .weights("w6", {5, 4})
      .constant("flat", Tensor::of<std::int64_t>({2}, {0, 96}))
      .node("Conv", "c0", {"x", "w0", "b0"}, same)
      .node("Relu", "r0", {"c0"})
      .node("Conv", "c1", {"r0", "w1"}, same)
      .node("Add", "sum", {"c1", "r0"})  // ties c0 and c1
      .node("Relu", "r1", {"sum"})
      .node("Conv", "c2", {"r1", "w2"}, same)
      .node("Concat", "both", {"r1", "c2"}, {{"axis", std::int64_t{1}}})
      .node("Conv", "c3", {"both", "w3", "b3"}, depthwise)
      .node("Conv", "c4", {"c3", "w4"})
      .node("Mul", "scaled", {"c4", "scale"})
      .node("MaxPool", "pool", {"scaled"},
            {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}})
      .node("Reshape", "row", {"pool", "flat"})
      .node("Gemm", "g5", {"row", "w5", "b5"}, {{"transB", std::int64_t{1}}})
      .node("Tanh", "t5", {"g5"})
      .node("MatMul", "y", {"t5", "w6"})
      .finish({"y"});
}

TEST(Channels, TiedOnesAreInOneFamily) {
  const Graph graph = residual_network();
  const auto families = ChannelGroups(graph).families();
  std::vector<std::string> names;
  for (const auto& family : families) names.push_back(family.name);
  EXPECT_EQ(names, (std::vector<std::string>{"c0", "c2", "c4", "g5"}));  // y is the output
  EXPECT_EQ(families[0].groups.size(), 8u);
  EXPECT_EQ(families[0].groups[3].filters, (std::vector<std::pair<std::string, std::int64_t>>{{"c0", 3}, {"c1", 3}}));
}

TEST(Channels, ASmallerNetworkComputesWhatTheMaskedOneDoes) {
  const Graph graph = residual_network();
  const ChannelGroups channels(graph);
  const auto small = channels.without(half_of(channels));
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_EQ(small->value("sum").shape, (Shape{kBatch, 4, 8, 8}));
  EXPECT_EQ(small->value("c3").shape, (Shape{kBatch, 6, 8, 8}));
  EXPECT_EQ(small->value("row").shape, (Shape{kBatch, 48}));
  expect_equal_to_masked(graph, *small, 3);
}

TEST(Channels, EveryLayerKeepsAtLeastOne) {
  const Graph graph = residual_network();
  const ChannelGroups channels(graph);
  std::vector<Group> all;
  for (const auto& family : channels.families()) all.insert(all.end(), family.groups.begin(), family.groups.end());
  const auto small = channels.without(all);
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_EQ(small->value("sum").shape[1], 1);
  EXPECT_EQ(small->value("c4").shape[1], 1);
}

class ChannelsOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Channels, ChannelsOf,
                         ::testing::Values("lenet", "mlp-64-32", "resnet-8", "resnet-8-b", "mobilenet-0.5",
                                           "mobilenetv2-0.5", "squeezenet-1.1", "densenet-bc-10-12",
                                           "shufflenet-v2-0.5"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST_P(ChannelsOf, TheSmallerNetworkComputesWhatTheMaskedOneDoes) {
  zoo::ModelOptions options;
  options.sample_shape = {3, 32, 32};
  const Graph graph = zoo::build_model(GetParam(), options).value();
  const ChannelGroups channels(graph);
  const auto small = channels.without(half_of(channels));
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_LT(small->parameter_elements(), graph.parameter_elements() * 8 / 10);
  EXPECT_EQ(small->value(small->outputs()[0]).shape, graph.value(graph.outputs()[0]).shape);
  expect_equal_to_masked(graph, *small, 1);
}

TEST(Channels, AStepDropsTheShareThatIsAskedForAndTrainsOn) {
  const Graph graph = trained_perceptron();
  const Workplace workplace = glyph_workplace(graph, 2000);
  const Network network =
      cooked("- channels: {keep: 0.5, rounds: 2, epochs: 2, learning_rate: 0.05}", {graph, {}}, workplace);
  EXPECT_EQ(network.graph.value("fc1.weight").shape, (Shape{32, 784}));
  EXPECT_EQ(network.graph.value("fc2.weight").shape, (Shape{16, 32}));
  EXPECT_GT(glyph_accuracy(network.graph), glyph_accuracy(graph) - 0.05);
}

TEST(Channels, BySensitivityTheShareIsKeptOfAllWeightsTogether) {
  const Graph graph = trained_perceptron();
  const Network network = cooked("- channels: {keep: 0.5, rounds: 1, epochs: 1, learning_rate: 0.05, by: sensitivity}",
                                 {graph, {}}, glyph_workplace(graph, 2000));
  const auto first = static_cast<double>(network.graph.value("fc1.weight").shape[0]);
  const auto second = static_cast<double>(network.graph.value("fc2.weight").shape[0]);
  // shares count as the weights of their layer do: 64 x 784 and 32 x 64
  EXPECT_NEAR((first / 64 * 64 * 784 + second / 32 * 32 * 64) / (64 * 784 + 32 * 64), 0.5, 0.02);
  EXPECT_GT(glyph_accuracy(network.graph), glyph_accuracy(graph) - 0.1);
}

TEST(Channels, AStepBehindPruningIsRefused) {
  const Graph graph = trained_perceptron();
  const Recipe recipe = parse_recipe("- prune: {epochs: 0}\n- channels: {epochs: 0}\n", "recipe").value();
  RecipeProgress progress{"", 0, 0, {graph, {}}};
  const Status status =
      run_recipe(recipe, progress, glyph_workplace(graph, 64), [](const RecipeProgress&) { return Status(); });
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("in front of"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::compress
