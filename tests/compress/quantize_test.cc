#include "mangrove/compress/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/compress/networks.h"

#include "mangrove/graph/onnx.h"

namespace mangrove::compress {
namespace {

/// "relu1.dequantized conv2_w.dequantized -> c2": what each node that computes reads and gives, without the
/// DequantizeLinear of constants.
std::vector<std::string> flow(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes()) {
    if (graph.initializers().contains(node.inputs[0])) continue;
    std::string line = node.op + ":";
    for (const std::string& input : node.inputs) {
      if (!graph.initializers().contains(input)) line += " " + input;
    }
    lines.push_back(line + " -> " + node.outputs[0]);
  }
  return lines;
}

/// Two convolutions beside a shortcut, then pooling and a dense layer. projection: the shortcut is a convolution too.
Graph residual_network(bool projection) {
  NetworkWriter writer({kBatch, 3, 8, 8});
  writer.weights("w1", {4, 3, 3, 3}).weights("b1", {4});
  writer.weights("w2", {4, 4, 3, 3}).weights("b2", {4});
  writer.weights("w3", {4, 4, 3, 3}).weights("w4", {4, 4, 1, 1}).weights("w5", {10, 4}).weights("b5", {10});
  const std::map<std::string, Attribute> pads = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  writer.node("Conv", "c1", {"x", "w1", "b1"}, pads).node("Relu", "r1", {"c1"});
  writer.node("Conv", "c2", {"r1", "w2", "b2"}, pads).node("Relu", "r2", {"c2"});
  if (projection) writer.node("Conv", "c4", {"r1", "w4"});
  writer.node("Conv", "c3", {"r2", "w3"}, pads).node("Add", "sum", {"c3", projection ? "c4" : "r1"});
  writer.node("Relu", "r3", {"sum"}).node("GlobalAveragePool", "mean", {"r3"}).node("Flatten", "flat", {"mean"});
  writer.node("Gemm", "logits", {"flat", "w5", "b5"}, {{"transB", std::int64_t{1}}});
  return writer.finish({"logits"});
}

TEST(QuantizeStatic, ResidualNetworkComputesBetweenBytes) {
  const Graph graph = quantized(residual_network(false));
  const std::vector<std::string> expected = {
      "QuantizeLinear: x -> x.quantized",
      "DequantizeLinear: x.quantized -> x.dequantized",
      "Conv: x.dequantized w1.dequantized b1.dequantized -> c1",
      "Relu: c1 -> r1",
      "QuantizeLinear: r1 -> r1.quantized",
      "DequantizeLinear: r1.quantized -> r1.dequantized",
      "Conv: r1.dequantized w2.dequantized b2.dequantized -> c2",
      "Relu: c2 -> r2",
      "QuantizeLinear: r2 -> r2.quantized",
      "DequantizeLinear: r2.quantized -> r2.dequantized",
      "Conv: r2.dequantized w3.dequantized -> c3",
      "Add: c3 r1.dequantized -> sum",
      "Relu: sum -> r3",
      "QuantizeLinear: r3 -> r3.quantized",
      "DequantizeLinear: r3.quantized -> r3.dequantized",
      "GlobalAveragePool: r3.dequantized -> mean",
      "QuantizeLinear: mean -> mean.quantized",
      "DequantizeLinear: mean.quantized -> mean.dequantized",
      "Flatten: mean.dequantized -> flat",
      "QuantizeLinear: flat -> flat.quantized",
      "DequantizeLinear: flat.quantized -> flat.dequantized",
      "Gemm: flat.dequantized w5.dequantized b5.dequantized -> logits",
  };
  EXPECT_EQ(flow(graph), expected);
  EXPECT_EQ(graph.value("x.quantized").dtype, DType::i8);
  for (const char* value : {"r1", "r2", "r3", "mean", "flat"}) {
    EXPECT_EQ(graph.value(std::string(value) + ".quantized").dtype, DType::u8) << value;
  }
  // what moves only keeps the scale
  EXPECT_EQ(maker(graph, "flat.quantized").inputs[1], maker(graph, "mean.quantized").inputs[1]);
  EXPECT_NE(maker(graph, "mean.quantized").inputs[1], maker(graph, "r3.quantized").inputs[1]);
}

TEST(QuantizeStatic, OfTwoProductsThatAreAddedTheLaterIsAddedAsItIs) {
  const std::vector<std::string> lines = flow(quantized(residual_network(true)));
  EXPECT_EQ(std::ranges::count(lines, "Add: c3 c4.dequantized -> sum"), 1);
  EXPECT_EQ(std::ranges::count(lines, "QuantizeLinear: c4 -> c4.quantized"), 1);
}

TEST(QuantizeStatic, ConstantsAreOnnxs) {
  const Graph graph = quantized(residual_network(false));
  for (const Node& node : graph.nodes()) {
    if (node.op != "QuantizeLinear" && node.op != "DequantizeLinear") continue;
    ASSERT_EQ(node.inputs.size(), 3u) << node.name;
    const Tensor& zero = graph.initializers().at(node.inputs[2]);
    const auto* bytes = zero.data();
    EXPECT_TRUE(std::all_of(bytes, bytes + zero.bytes(), [](std::byte b) { return b == std::byte{0}; })) << node.name;
    EXPECT_EQ(zero.shape(), graph.initializers().at(node.inputs[1]).shape()) << node.name;
  }
  EXPECT_EQ(graph.initializers().at("w1.quantized").dtype(), DType::i8);
  EXPECT_EQ(graph.initializers().at("w1.scales").shape(), Shape{4});
  EXPECT_EQ(maker(graph, "w5.dequantized").int_or("axis", -1), 0);
  const Tensor& bias = graph.initializers().at("b5.quantized");
  EXPECT_EQ(bias.dtype(), DType::i32);
  const float input = graph.initializers().at(maker(graph, "flat.quantized").inputs[1]).as<float>()[0];
  for (std::size_t c = 0; c < 10; ++c) {
    EXPECT_FLOAT_EQ(graph.initializers().at("b5.scales").as<float>()[c],
                    input * graph.initializers().at("w5.scales").as<float>()[c]);
  }
  for (const char* gone : {"w1", "w5", "b5"}) EXPECT_FALSE(graph.initializers().contains(gone)) << gone;
}

TEST(QuantizeStatic, ScalesHoldTheRangesThatWereSeen) {
  const Graph graph = residual_network(false);
  const QuantizationPlan plan = plan_quantization(graph, {}).value();
  const auto seen = calibrated(graph, plan);
  const Graph bytes = quantize_static(graph, plan, seen, range_methods()[0]).value();
  const auto scale = [&](const std::string& value) {
    return bytes.initializers().at(maker(bytes, value + ".quantized").inputs[1]).as<float>()[0];
  };
  EXPECT_FLOAT_EQ(scale("x"), static_cast<float>(seen.at("x").largest() / 127));
  EXPECT_FLOAT_EQ(scale("r3"), seen.at("r3").high() / 255);
}

struct FloatNetwork {
  const char* name;
  Graph (*make)();
  std::size_t layers;  // quantized
  double least;        // dB
};

Graph depthwise() {
  NetworkWriter writer({kBatch, 6, 7, 7});
  writer.weights("w1", {6, 1, 3, 3}).weights("b1", {6}).weights("w2", {8, 3, 1, 1}).weights("w3", {8, 8, 3, 3});
  writer.constant("zero", Tensor::of<float>({}, {0})).constant("six", Tensor::of<float>({}, {6}));
  writer.node("Conv", "c1", {"x", "w1", "b1"}, {{"group", std::int64_t{6}}}).node("Clip", "r1", {"c1", "zero", "six"});
  writer.node("Conv", "c2", {"r1", "w2"}, {{"group", std::int64_t{2}}}).node("HardSwish", "r2", {"c2"});
  writer.node("MaxPool", "p", {"r2"}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  writer.node("Conv", "y", {"p", "w3"});
  return writer.finish({"y"});
}

Graph shared_weights() {
  NetworkWriter writer({kBatch, 4, 6, 6});
  writer.weights("w", {4, 4, 3, 3}).weights("b", {4});
  const std::map<std::string, Attribute> pads = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  writer.node("Conv", "c1", {"x", "w", "b"}, pads).node("Tanh", "t", {"c1"}).node("Conv", "y", {"t", "w", "b"}, pads);
  return writer.finish({"y"});
}

Graph dense() {
  NetworkWriter writer({kBatch, 12});
  writer.weights("w1", {12, 20}).weights("w2", {20, 16}).weights("b2", {1, 16}).weights("w3", {16, 5});
  writer.weights("b3", {5});
  writer.node("Gemm", "g1", {"x", "w1"}).node("Relu", "r1", {"g1"});
  writer.node("Gemm", "g2", {"r1", "w2", "b2"}).node("LeakyRelu", "r2", {"g2"});
  writer.node("MatMul", "m", {"r2", "w3"}).node("Add", "y", {"m", "b3"});
  return writer.finish({"y"});
}

Graph branches() {
  NetworkWriter writer({kBatch, 3, 6, 6});
  writer.weights("w1", {4, 3, 1, 1}).weights("w2", {2, 3, 1, 1}, 5).weights("w3", {5, 6, 3, 3});
  writer.node("Conv", "c1", {"x", "w1"}).node("Relu", "r1", {"c1"}).node("Conv", "c2", {"x", "w2"});
  writer.node("Concat", "both", {"r1", "c2"}, {{"axis", std::int64_t{1}}}).node("Conv", "y", {"both", "w3"});
  return writer.finish({"y"});
}

Graph residual() {
  return residual_network(false);
}
Graph projected() {
  return residual_network(true);
}

class EveryNetwork : public ::testing::TestWithParam<FloatNetwork> {};
INSTANTIATE_TEST_SUITE_P(QuantizeStatic, EveryNetwork,
                         ::testing::Values(FloatNetwork{"residual", residual, 4, 25},
                                           FloatNetwork{"projected", projected, 5, 25},
                                           FloatNetwork{"depthwise", depthwise, 3, 20},
                                           FloatNetwork{"shared_weights", shared_weights, 2, 30},
                                           FloatNetwork{"dense", dense, 3, 30},
                                           FloatNetwork{"branches", branches, 3, 30}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryNetwork, StaysNearTheFloatNetworkAndComesBackFromAFile) {
  const Graph graph = GetParam().make();
  EXPECT_EQ(plan_quantization(graph, {}).value().layers.size(), GetParam().layers);
  const Graph bytes = quantized(graph);
  const Tensor x = random_input(graph, 8, 99);  // not one of calibration
  const std::vector<float> reference = run(graph, x), result = run(bytes, x);
  EXPECT_GE(signal_to_noise(reference, result), GetParam().least);
  EXPECT_NE(reference, result);
  const auto reloaded = parse_onnx(encode_onnx(bytes));
  ASSERT_TRUE(reloaded.ok()) << reloaded.error().message;
  EXPECT_EQ(run(*reloaded, x), result);
}

TEST(QuantizeStatic, SharedWeightsAreStoredOnce) {
  const Graph bytes = quantized(shared_weights());
  std::size_t weights = 0;
  for (const auto& [name, tensor] : bytes.initializers())
    weights += tensor.dtype() == DType::i8 && tensor.elements() == 144;
  EXPECT_EQ(weights, 1u);
  EXPECT_EQ(readers(bytes, "w.dequantized").size(), 2u);
  // the unit of a bias goes by its input
  EXPECT_NE(maker(bytes, "c1").inputs[2], maker(bytes, "y").inputs[2]);
}

TEST(QuantizeStatic, ConcatenatedValuesHaveOneScaleAndType) {
  const Graph bytes = quantized(branches());
  const Node& concat = maker(bytes, "both");
  const std::string a = maker(bytes, concat.inputs[0]).inputs[1], b = maker(bytes, concat.inputs[1]).inputs[1];
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, maker(bytes, "both.quantized").inputs[1]);
  for (const char* value : {"r1", "c2", "both"}) {
    EXPECT_EQ(bytes.value(std::string(value) + ".quantized").dtype, DType::i8) << value;  // c2 is negative at times
  }
}

TEST(QuantizeStatic, WhatIsSkippedStaysFloat) {
  for (const char* skip : {"c2", "Gemm"}) {
    const Graph graph = residual_network(false);
    const QuantizeOptions options{.skip = {skip}};
    const QuantizationPlan plan = plan_quantization(graph, options).value();
    ASSERT_EQ(plan.kept.size(), 1u);
    EXPECT_EQ(plan.kept[0].why, "skipped");
    EXPECT_EQ(plan.layers.size(), 3u);
    const Graph bytes = quantized(graph, options);
    const std::string weights = std::string(skip) == "c2" ? "w2" : "w5";
    EXPECT_EQ(bytes.initializers().at(weights).dtype(), DType::f32);
    EXPECT_GE(signal_to_noise(run(graph, random_input(graph, 4, 5)), run(bytes, random_input(graph, 4, 5))), 25);
  }
}

TEST(QuantizeStatic, WhatOnlyFloatNodesReadStaysFloat) {
  NetworkWriter writer({kBatch, 3, 6, 6});
  writer.weights("w1", {4, 3, 1, 1}).weights("w2", {2, 4, 1, 1});
  writer.node("Conv", "c1", {"x", "w1"}).node("Softmax", "s", {"c1"}, {{"axis", std::int64_t{1}}});
  writer.node("Conv", "c2", {"s", "w2"})
      .node("MaxPool", "p", {"c2"}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  const std::vector<std::string> lines = flow(quantized(writer.node("Exp", "y", {"p"}).finish({"y"})));
  EXPECT_EQ(std::ranges::count(lines, "Softmax: c1 -> s"), 1);
  EXPECT_EQ(std::ranges::count(lines, "MaxPool: c2 -> p"), 1);
  EXPECT_EQ(std::ranges::count(lines, "Conv: s.dequantized w2.dequantized -> c2"), 1);
}

TEST(QuantizeStatic, AValueThatIsAnOutputTooStaysFloatThere) {
  NetworkWriter writer({kBatch, 3, 6, 6});
  writer.weights("w1", {4, 3, 1, 1}).weights("w2", {2, 4, 1, 1});
  writer.node("Conv", "c1", {"x", "w1"}).node("Conv", "y", {"c1", "w2"});
  const Graph graph = writer.finish({"y", "c1"});
  const Graph bytes = quantized(graph);
  EXPECT_EQ(bytes.outputs(), graph.outputs());
  EXPECT_EQ(maker(bytes, "c1").op, "Conv");
  EXPECT_EQ(maker(bytes, "y").inputs[0], "c1.dequantized");
}

TEST(QuantizeStatic, AValueThatIsAlwaysZeroIsNoDivisionByZero) {
  NetworkWriter writer({kBatch, 3});
  writer.constant("w1", Tensor(DType::f32, {3, 4})).weights("w2", {4, 2}).weights("b2", {2});
  writer.node("Gemm", "g", {"x", "w1"}).node("Relu", "r", {"g"}).node("Gemm", "y", {"r", "w2", "b2"});
  const Graph graph = writer.finish({"y"});
  const std::vector<float> expected = run(graph, random_input(graph, 2, 1));
  const std::vector<float> result = run(quantized(graph), random_input(graph, 2, 1));
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], expected[i], 0.01);
}

struct Refused {
  const char* name;
  Graph (*make)();
  QuantizeOptions options;
  Code code;
  const char* says;
};

Graph quantized_before() {
  return quantized(dense());
}
Graph only_pooling() {
  return NetworkWriter({kBatch, 3, 6, 6}).node("GlobalAveragePool", "y", {"x"}).finish({"y"});
}
Graph computed_weights() {
  NetworkWriter writer({4, 4});
  return writer.node("Tanh", "t", {"x"}).node("MatMul", "y", {"x", "t"}).finish({"y"});
}

class Refusals : public ::testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(
    PlanQuantization, Refusals,
    ::testing::Values(
        Refused{"twice", quantized_before, {}, Code::failed_precondition, "quantized already: it has node"},
        Refused{"no_product", only_pooling, {}, Code::failed_precondition, "nothing to quantize"},
        Refused{
            "computed", computed_weights, {}, Code::failed_precondition, "node 'y' (MatMul) stays float: its weights"},
        Refused{"all_skipped", dense, {{"Gemm", "MatMul"}}, Code::failed_precondition, "skipped"},
        Refused{"unknown_skip", dense, {{"Gem"}}, Code::invalid_argument, "did you mean 'Gemm'"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(Refusals, SayWhy) {
  const auto plan = plan_quantization(GetParam().make(), GetParam().options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.code(), GetParam().code);
  EXPECT_NE(plan.error().message.find(GetParam().says), std::string::npos) << plan.error().message;
}

TEST(QuantizeStatic, NeedsEveryValueCalibrated) {
  const Graph graph = dense();
  const QuantizationPlan plan = plan_quantization(graph, {}).value();
  auto seen = calibrated(graph, plan);
  seen.erase("r2");
  const auto result = quantize_static(graph, plan, seen, range_methods()[0]);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.code(), Code::not_found);
  EXPECT_NE(result.error().message.find("'r2'"), std::string::npos) << result.error().message;
}

TEST(Calibrator, NamesTheValueThatIsNoNumber) {
  NetworkWriter writer({kBatch, 3});
  writer.weights("w1", {3, 4}).node("Log", "l", {"x"}).node("Gemm", "y", {"l", "w1"});
  const Graph graph = writer.finish({"y"});
  auto calibrator = Calibrator::create(graph, plan_quantization(graph, {}).value().observed(), {.batch = 1}).value();
  ASSERT_TRUE(calibrator.execution().set_input("x", Tensor::of<float>({1, 3}, {1, 0, 2})).ok());
  const Status seen = calibrator.observe();
  ASSERT_FALSE(seen.ok());
  EXPECT_NE(seen.error().message.find("'l'"), std::string::npos) << seen.error().message;
}

}  // namespace
}  // namespace mangrove::compress
