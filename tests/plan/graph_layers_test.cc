#include "mangrove/plan/graph_layers.h"

#include <gtest/gtest.h>

#include "mangrove/plan/measure.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/operator_times.h"

namespace mangrove::plan {
namespace {

Tensor zeros(const Shape& shape) {
  return Tensor(DType::f32, shape);
}

/// x [N, 4]: fc (`width` outputs) with relu, then left and right, each with as many, and their sum.
Graph fork(std::int64_t width = 8) {
  GraphParts parts;
  parts.name = "fork";
  parts.inputs = {{"x", {DType::f32, Shape({kBatch, 4})}}};
  parts.outputs = {"sum"};
  parts.initializers = {{"w", zeros({4, width})}, {"v", zeros({width, width})}};
  parts.nodes = {{"fc", "MatMul", {}, {"x", "w"}, {"h"}},
                 {"relu", "Relu", {}, {"h"}, {"a"}},
                 {"left", "MatMul", {}, {"a", "v"}, {"l"}},
                 {"right", "Relu", {}, {"a"}, {"r"}},
                 {"add", "Add", {}, {"l", "r"}, {"sum"}}};
  return Graph::create(std::move(parts)).value();
}

TEST(GraphLayers, HoldAnActivationWithItsMaker) {
  const GraphLayers made = layers_of(fork(), 2, false);
  ASSERT_EQ(made.network.layers.size(), 4u);
  EXPECT_EQ(made.nodes[0], (std::vector<std::size_t>{0, 1}));  // fc and relu
  EXPECT_EQ(made.network.layers[0].parameters, 4 * 4 * 8);
  EXPECT_EQ(made.network.layers[1].parameters, 4 * 8 * 8);
  EXPECT_EQ(made.network.layers[2].name, "right");  // its input is read by another one too
  ASSERT_TRUE(check(made.network).ok());
  const auto& flows = made.network.flows;
  ASSERT_EQ(flows.size(), 5u);  // x, a, l, r, sum; h never leaves its layer
  EXPECT_EQ(flows[0].bytes, 4 * 2 * 4);
  EXPECT_EQ(flows[1].from, 0u);
  EXPECT_EQ(flows[1].to, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(flows[1].bytes, 4 * 2 * 8);
  EXPECT_TRUE(flows[4].is_result);
  EXPECT_EQ(made.network.layers[0].activations, 4 * 2 * (4 + 8));
  EXPECT_EQ(made.network.layers[2].activations, 3 * 4 * 2 * 8);                        // a, l and r are alive
  EXPECT_EQ(layers_of(fork(), 2, true).network.layers[0].activations, 2 * 4 * 2 * 8);  // h and a are kept
}

// A sequence with the batch in the middle, and a Relu whose result is wanted again behind it.
TEST(GraphLayers, HoldAllThroughWhichAValueFlowsThatCannotTravel) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 5, 4}}}};
  parts.outputs = {"y"};
  const std::map<std::string, Attribute> swapped{{"perm", std::vector<std::int64_t>{1, 0, 2}}};
  parts.nodes = {{"relu", "Relu", {}, {"x"}, {"a"}},
                 {"turn", "Transpose", swapped, {"a"}, {"t"}},
                 {"exp", "Exp", {}, {"t"}, {"u"}},
                 {"back", "Transpose", swapped, {"u"}, {"b"}},
                 {"add", "Add", {}, {"b", "a"}, {"y"}}};
  const Graph graph = Graph::create(std::move(parts)).value();
  const GraphLayers made = layers_of(graph, 2, false);
  EXPECT_EQ(made.nodes, (std::vector<std::vector<std::size_t>>{{0}, {1, 2, 3}, {4}}));
  EXPECT_TRUE(check(made.network).ok());
}

TEST(GraphLayers, AreWhatTheCallerKeepsTogether) {
  const std::vector<std::size_t> two = {0, 0, 0, 1, 1};
  const GraphLayers made = layers_of(fork(), two, 2, false);
  EXPECT_EQ(made.nodes, (std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(made.sums(std::vector<Bytes>{1, 10, 100, 1000, 10000}), (std::vector<Bytes>{111, 11000}));
  ASSERT_EQ(made.network.layers.size(), 2u);
  EXPECT_EQ(made.network.layers[0].name, "fc");
  EXPECT_EQ(made.network.layers[1].name, "right");
  EXPECT_EQ(made.network.layers[0].parameters, 4 * (4 * 8 + 8 * 8));
  ASSERT_TRUE(check(made.network).ok());
  const auto& flows = made.network.flows;
  ASSERT_EQ(flows.size(), 4u);  // x, a, l, sum; h and r never leave their layers
  EXPECT_EQ(flows[1].to, std::vector<std::size_t>{1}) << "left is in its maker's layer";
  EXPECT_TRUE(flows[3].is_result);
}

TEST(GraphLayers, CountAParameterOnceWhereItIsTrained) {
  GraphParts parts;
  parts.name = "tied";
  parts.inputs = {{"x", {DType::f32, Shape({kBatch, 4})}}};
  parts.outputs = {"y"};
  parts.initializers = {{"w", zeros({4, 4})}, {"half", zeros({})}};
  parts.nodes = {{"a", "MatMul", {}, {"x", "w"}, {"h"}},
                 {"b", "MatMul", {}, {"h", "w"}, {"i"}},
                 {"c", "Mul", {}, {"i", "half"}, {"y"}}};
  const Graph tied = Graph::create(std::move(parts)).value();
  const auto parameters = [&](std::vector<std::size_t> layer, bool training) {
    std::vector<Bytes> bytes;
    for (const Layer& one : layers_of(tied, layer, 1, training).network.layers) bytes.push_back(one.parameters);
    return bytes;
  };
  EXPECT_EQ(parameters({0, 0, 0}, true), std::vector<Bytes>{4 * 16}) << "half is no parameter";
  EXPECT_EQ(parameters({0, 1, 1}, true), (std::vector<Bytes>{4 * 16, 4 * 16})) << "each has its own";
  EXPECT_EQ(parameters({0, 1, 1}, false), (std::vector<Bytes>{4 * 16, 4 * 16 + 4}));
}

TEST(OperatorTimes, AreMeasuredElsePredicted) {
  const Graph graph = fork();
  Profile profile{"fork", {}, {}, 2, 1, false, 0, operators_of(graph, 2)};
  for (std::size_t i = 0; i < profile.operators.size(); ++i)
    profile.operators[i].forward = 1e-3 * static_cast<double>(1 + i);
  const auto measured = operator_times(graph, 2, profile, false);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->seconds, (std::vector<Seconds>{1e-3, 2e-3, 3e-3, 4e-3, 5e-3}));
  EXPECT_EQ(layers_of(graph, 2, false).sums(measured->seconds), (std::vector<Seconds>{3e-3, 3e-3, 4e-3, 5e-3}));
  EXPECT_EQ(measured->predicted, 0u);
  profile.operators.erase(profile.operators.begin() + 2);
  EXPECT_EQ(operator_times(graph, 2, profile, false)->predicted, 1u);
  const auto training = operator_times(graph, 2, profile, true);
  ASSERT_FALSE(training.ok());
  EXPECT_NE(training.error().message.find("backward"), std::string::npos);
}

TEST(OperatorTimes, GrowWithTheMicroBatchAsTheCostModelSays) {
  const Graph graph = fork();
  Profile profile{"fork", {}, {}, 2, 1, false, 0, operators_of(graph, 2)};
  for (OperatorProfile& one : profile.operators) one.forward = 1e-9 * one.flops;
  const auto times = operator_times(graph, 8, profile, false);
  ASSERT_TRUE(times.ok());
  const std::vector<OperatorProfile> at_8 = operators_of(graph, 8);
  EXPECT_NEAR(times->seconds[2], 1e-9 * at_8[2].flops, 1e-12);
}

TEST(OperatorTimes, AreNotThoseOfAnotherNetworksOperatorsOfTheSameNames) {
  Profile profile{"fork", {}, {}, 2, 1, false, 0, operators_of(fork(8), 2)};
  for (OperatorProfile& one : profile.operators) one.forward = 1e-9 * one.flops;
  const Graph wider = fork(16);
  const auto times = operator_times(wider, 2, profile, false);
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR(times->seconds[2], 1e-9 * 2 * 2 * 16 * 16, 1e-12);  // a quarter of it was measured
}

TEST(OperatorWeights, AreTheProfilesWhereItKnows) {
  const Graph graph = fork();
  Profile profile{"fork", {}, {}, 2, 1, false, 0, operators_of(graph, 2)};
  profile.operators[0].weights = 1000;  // of fc
  profile.operators[2].weights = 2000;
  profile.operators[2].kind = "Conv";  // another operator of this name
  EXPECT_EQ(operator_weights(graph, 6, profile), (std::vector<Bytes>{1000, 0, 4 * 8 * 8, 0, 0}));
}

TEST(LayerMemory, IsTheProfilesWhereItKnows) {
  const Graph graph = fork();
  Profile profile{"fork", {}, {}, 2, 1, false, 0, operators_of(graph, 2)};
  profile.operators[0].weights = 1000;  // fc, with relu fused into it
  profile.operators[0].memory = 300;
  profile.operators[2].memory = 500;  // left, whose weights lie elsewhere
  const auto memory = [&](const Graph& of, std::int64_t batch, bool training) {
    return layer_memory(of, layers_of(of, batch, training), profile, training);
  };
  const GraphLayers layers = layers_of(graph, 2, false);
  const std::vector<LayerMemory> at_2 = memory(graph, 2, false), at_8 = memory(graph, 8, false);
  EXPECT_EQ(at_2[0].parameters, 1000);
  EXPECT_EQ(at_2[0].activations, 300);
  EXPECT_EQ(at_8[0].parameters, 1000);
  EXPECT_EQ(at_8[0].activations, 4 * 300);
  EXPECT_EQ(at_2[1].parameters, 0);
  EXPECT_EQ(at_2[3].activations, layers.network.layers[3].activations) << "add is not known";
  const GraphLayers kept = layers_of(graph, 2, true);
  EXPECT_EQ(memory(graph, 2, true)[0].activations, kept.network.layers[0].activations) << "of inference";
  const GraphLayers wider = layers_of(fork(16), 2, false);
  EXPECT_EQ(memory(fork(16), 2, false)[1].activations, wider.network.layers[1].activations) << "of another network";
  Layers network = layers.network;
  set_memory(network, larger(at_2, at_8));
  EXPECT_EQ(network.layers[0].activations, 4 * 300);
}

TEST(MeasureProfile, TimesEveryOperatorForwardAndBackward) {
  const Graph graph = fork();
  const SteadyClock clock;
  const auto forward = measure_profile(graph, {.batch = 4, .seconds = 0}, clock);
  ASSERT_TRUE(forward.ok()) << forward.error().message;
  ASSERT_EQ(forward->operators.size(), graph.nodes().size());
  EXPECT_FALSE(forward->training);
  EXPECT_GT(forward->find("left")->forward, 0);
  EXPECT_EQ(forward->find("left")->backward, 0);
  EXPECT_EQ(forward->find("left")->flops, 2.0 * 4 * 8 * 8);
  EXPECT_GE(forward->find("left")->weights, 4 * 8 * 8);
  EXPECT_GE(forward->find("left")->memory, 4 * 4 * (8 + 8));
  const auto training = measure_profile(graph, {.batch = 4, .training = true, .seconds = 0}, clock);
  ASSERT_TRUE(training.ok()) << training.error().message;
  EXPECT_GT(training->find("left")->forward, 0);
  EXPECT_GT(training->find("left")->backward, 0);
}

TEST(MeasureProfile, AQuotaStretchesWhatOneThreadComputes) {
  EXPECT_EQ(operator_stretch(1, 5), 5);
  EXPECT_EQ(operator_stretch(2, 5), 1) << "its pauses are measured";
  const SteadyClock clock;
  const auto stretched = measure_profile(fork(), {.batch = 4, .seconds = 0, .slowdown = 1e9}, clock);
  ASSERT_TRUE(stretched.ok()) << stretched.error().message;
  EXPECT_GT(stretched->find("left")->forward, 1);
}

}  // namespace
}  // namespace mangrove::plan
