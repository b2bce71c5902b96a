#include "mangrove/graph/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "tests/engine/optimized_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

std::set<std::string> all_but(std::string_view name) {
  std::set<std::string> others;
  for (const Pass& pass : passes()) {
    if (pass.name != name) others.emplace(pass.name);
  }
  return others;
}

Graph transposed_conv_norm() {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 4, 3, 3}).parameter("w", {4, 3, 2, 2}).parameter("b", {6});
  graph.node("ConvTranspose", {"x", "w", "b"}, "conv", {{"group", std::int64_t{2}}, {"strides", Ints{2, 1}}});
  return add_norm(graph, "conv", "y", 6).create({"y"});
}

Graph gemm_norm(const Shape& weights, const Attributes& attributes, std::optional<Shape> bias) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 3}).parameter("w", weights);
  std::vector<std::string> inputs{"x", "w"};
  if (bias) {
    graph.parameter("b", *bias);
    inputs.push_back("b");
  }
  graph.node("Gemm", inputs, "gemm", attributes);
  return add_norm(graph, "gemm", "y", 5).create({"y"});
}

Graph two_readers_of_conv(bool as_output) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 2, 4, 4}).parameter("w", {3, 2, 1, 1}).node("Conv", {"x", "w"}, "conv");
  add_norm(graph, "conv", "norm", 3);
  if (as_output) return graph.create({"norm", "conv"});
  return graph.node("Add", {"norm", "conv"}, "y").create({"y"});
}

/// Bytes "a" of the input, of which the caller makes "b" for the nodes that follow: quantized again with `scale`.
Graph quantized_again(const std::function<void(GraphSketch&)>& make_b, float scale) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 2, 4, 4}).node("Cast", {"x"}, "f", {{"to", kOnnxFloat}});
  add_bytes(graph, "f", "a", 0.01f);
  make_b(graph);
  return add_bytes(graph, "b", "c", scale).node("Cast", {"c"}, "y", {{"to", kOnnxDouble}}).create({"y"});
}

void pool_bytes(GraphSketch& graph) {
  graph.node("MaxPool", {"a"}, "b", {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 1, 0, 1}}});
}

void join_bytes(GraphSketch& graph, float other_scale) {
  add_bytes(graph, "f", "o", other_scale).node("Concat", {"a", "o"}, "b", {{"axis", std::int64_t{1}}});
}

/// i8 weights and their scales, dequantized, times the input: quantized, or not.
Graph product_of_bytes(bool quantized_input) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 3})
      .node("Cast", {"x"}, "f", {{"to", kOnnxFloat}})
      .constant("w", uniform_tensor(DType::i8, {3, 2}, 3, -127, 127))
      .constant("s", Tensor::of<float>({}, {0.02f}))
      .node("DequantizeLinear", {"w", "s"}, "weights");
  if (quantized_input) add_bytes(graph, "f", "a", 0.01f);
  return graph.node("MatMul", {quantized_input ? "a" : "f", "weights"}, "b")
      .node("Cast", {"b"}, "y", {{"to", kOnnxDouble}})
      .create({"y"});
}

/// Bytes of x times weights of bytes in [low, high] with this zero point, made floats by both scales.
Graph integer_product(DType weights, int low, int high, int zero) {
  return sketch()
      .input("x", {kBatch, 3})
      .node("Cast", {"x"}, "f", {{"to", kOnnxFloat}})
      .node_of_several("DynamicQuantizeLinear", {"f"}, {"x.bytes", "x.scale", "x.zero"})
      .constant("w", uniform_tensor(weights, {3, 20}, 3, low, high))
      .constant("w.zero", uniform_tensor(weights, {}, 3, zero, zero))
      .node("MatMulInteger", {"x.bytes", "w", "x.zero", "w.zero"}, "sums")
      .node("Cast", {"sums"}, "floats", {{"to", kOnnxFloat}})
      .constant("w.scale", Tensor::of<float>({}, {0.02f}))
      .node("Mul", {"x.scale", "w.scale"}, "scale")
      .node("Mul", {"floats", "scale"}, "scaled")
      .node("Cast", {"scaled"}, "y", {{"to", kOnnxDouble}})
      .create({"y"});
}

struct PassesCase {
  std::string name;
  std::string pass;
  std::function<Graph()> graph;
  int changes;        // notes of the pass, when it runs alone
  std::size_t nodes;  // left
  Mode mode = Mode::inference;
};

const Attributes kTransposed{{"transB", std::int64_t{1}}};

const PassesCase kPassesCases[] = {
    {"Conv", "fold_batch_norm",
     [] {
       return conv_norm({}, {3, 4, 3, 3}, 3, false);
     },
     1, 1},
    {"ConvWithBias", "fold_batch_norm",
     [] {
       return conv_norm({}, {3, 4, 3, 3}, 3, true);
     },
     1, 1},
    {"GroupedConv", "fold_batch_norm",
     [] {
       return conv_norm({{"group", std::int64_t{2}}}, {6, 2, 2, 2}, 6, true);
     },
     1, 1},
    {"GroupedConvTranspose", "fold_batch_norm", transposed_conv_norm, 1, 1},
    {"Gemm", "fold_batch_norm",
     [] {
       return gemm_norm({3, 5}, {}, Shape{5});
     },
     1, 1},
    {"GemmTransposedWithFactors", "fold_batch_norm",
     [] {
       return gemm_norm({5, 3}, {{"transB", std::int64_t{1}}, {"alpha", 0.5f}, {"beta", 3.0f}}, Shape{1, 5});
     },
     1, 1},
    {"GemmScalarBias", "fold_batch_norm",
     [] {
       return gemm_norm({5, 3}, kTransposed, Shape{});
     },
     1, 1},
    {"GemmNoBiasButBeta", "fold_batch_norm",
     [] {
       return gemm_norm({3, 5}, {{"beta", 2.0f}}, {});
     },
     1, 1},
    {"ConvReadTwice", "fold_batch_norm", [] { return two_readers_of_conv(false); }, 0, 3},
    {"ConvIsAnOutput", "fold_batch_norm", [] { return two_readers_of_conv(true); }, 0, 2},
    {"NotInTraining", "fold_batch_norm",
     [] {
       return conv_norm({}, {3, 4, 3, 3}, 3, false);
     },
     0, 2, Mode::training},
    {"WeightsAreFed", "fold_batch_norm",
     [] {
       GraphSketch graph = sketch();
       graph.input("x", {kBatch, 2, 4, 4}).input("w", {3, 2, 1, 1}).node("Conv", {"x", "w"}, "conv");
       return add_norm(graph, "conv", "y", 3).create({"y"});
     },
     0, 2},
    {"SharedWeights", "fold_batch_norm",
     [] {
       GraphSketch graph = sketch();
       graph.input("x", {kBatch, 2, 4, 4}).parameter("w", {2, 2, 1, 1}).node("Conv", {"x", "w"}, "first");
       add_norm(graph, "first", "norm", 2).node("Conv", {"norm", "w"}, "y");
       return graph.create({"y"});
     },
     1, 2},
    {"Chain", "drop_identity",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("Tanh", {"x"}, "a")
           .node("Identity", {"a"}, "b")
           .node("Identity", {"b"}, "c")
           .node("Tanh", {"c"}, "y")
           .create({"y"});
     },
     2, 2},
    {"DropoutInInference", "drop_identity",
     [] {
       return sketch().input("x", {kBatch, 3}).node("Dropout", {"x"}, "a").node("Tanh", {"a"}, "y").create({"y"});
     },
     1, 1},
    {"DropoutInTraining", "drop_identity",
     [] {
       return sketch().input("x", {kBatch, 3}).node("Dropout", {"x"}, "a").node("Tanh", {"a"}, "y").create({"y"});
     },
     0, 2, Mode::training},
    {"BeforeAnOutput", "drop_identity",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("Tanh", {"x"}, "a")
           .node("Tanh", {"a"}, "other")
           .node("Identity", {"a"}, "y")
           .create({"y", "other"});
     },
     1, 2},
    {"TwoOutputsOfOneValue", "drop_identity",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("Tanh", {"x"}, "a")
           .node("Identity", {"a"}, "y")
           .node("Identity", {"a"}, "z")
           .create({"y", "z"});
     },
     1, 2},
    {"FromInputToOutput", "drop_identity",
     [] {
       return sketch().input("x", {kBatch, 3}).node("Identity", {"x"}, "y").create({"y"});
     },
     0, 1},
    {"ParameterInTraining", "drop_identity",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .parameter("w", {3})
           .node("Identity", {"w"}, "a")
           .node("Add", {"x", "a"}, "y")
           .create({"y"});
     },
     0, 2, Mode::training},
    {"Weights", "fold_constants",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .parameter("v", {3})
           .parameter("w", {3})
           .node("Add", {"v", "w"}, "a")
           .node("Tanh", {"a"}, "b")
           .node("Add", {"x", "b"}, "y")
           .create({"y"});
     },
     2, 1},
    {"NotTrainedWeights", "fold_constants",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .parameter("w", {3})
           .node("Tanh", {"w"}, "b")
           .node("Add", {"x", "b"}, "y")
           .create({"y"});
     },
     0, 2, Mode::training},
    {"NotGraphOutputs", "fold_constants",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .parameter("w", {3})
           .node("Tanh", {"w"}, "b")
           .node("Add", {"x", "b"}, "y")
           .create({"y", "b"});
     },
     0, 2},
    {"WeightsOfBytes", "fold_constants", [] { return product_of_bytes(false); }, 1, 3},
    {"NotFactorsOfBytes", "fold_constants", [] { return product_of_bytes(true); }, 0, 6},
    {"Pool", "keep_bytes", [] { return quantized_again(pool_bytes, 0.01f); }, 2, 7},
    {"PoolQuantizedOtherwise", "keep_bytes", [] { return quantized_again(pool_bytes, 0.02f); }, 1, 8},
    {"Concat", "keep_bytes",
     [] { return quantized_again([](GraphSketch& graph) { join_bytes(graph, 0.01f); }, 0.01f); }, 2, 9},
    {"ConcatOfOtherScales", "keep_bytes",
     [] { return quantized_again([](GraphSketch& graph) { join_bytes(graph, 0.02f); }, 0.01f); }, 0, 9},
    {"WeightsThatFitWithoutTheirZero", "ready_integers", [] { return integer_product(DType::u8, 30, 220, 100); }, 2, 7},
    {"WeightsThatNeedTheirZero", "ready_integers", [] { return integer_product(DType::u8, 0, 255, 120); }, 2, 7},
    {"SignedWeightsThatNeedTheirZero", "ready_integers", [] { return integer_product(DType::i8, -128, 127, 100); }, 1,
     7},
    {"IntegersAreNotTrained", "ready_integers", [] { return integer_product(DType::u8, 0, 255, 120); }, 0, 7,
     Mode::training},
    {"SameTwice", "eliminate_common",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("LeakyRelu", {"x"}, "a", {{"alpha", 0.1f}})
           .node("LeakyRelu", {"x"}, "b", {{"alpha", 0.1f}})
           .node("Tanh", {"a"}, "c")
           .node("Tanh", {"b"}, "d")
           .node("Add", {"c", "d"}, "y")
           .create({"y"});
     },
     2, 3},
    {"OtherAttribute", "eliminate_common",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("LeakyRelu", {"x"}, "a", {{"alpha", 0.1f}})
           .node("LeakyRelu", {"x"}, "b", {{"alpha", 0.2f}})
           .node("Add", {"a", "b"}, "y")
           .create({"y"});
     },
     0, 3},
    {"BothOutputs", "eliminate_common",
     [] {
       return sketch().input("x", {kBatch, 3}).node("Tanh", {"x"}, "y").node("Tanh", {"x"}, "z").create({"y", "z"});
     },
     0, 2},
    {"DropoutsInTraining", "eliminate_common",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .node("Dropout", {"x"}, "a")
           .node("Dropout", {"x"}, "b")
           .node("Add", {"a", "b"}, "y")
           .create({"y"});
     },
     0, 3, Mode::training},
    {"UnreadNodes", "eliminate_dead",
     [] {
       return sketch()
           .input("x", {kBatch, 3})
           .parameter("w", {3})
           .node("Tanh", {"x"}, "y")
           .node("Add", {"x", "w"}, "a")
           .node("Tanh", {"a"}, "b")
           .create({"y"});
     },
     3, 1},
    {"AllNeeded", "eliminate_dead",
     [] {
       return sketch().input("x", {kBatch, 3}).node("Tanh", {"x"}, "a").node("Tanh", {"a"}, "y").create({"a", "y"});
     },
     0, 2},
};

class EveryPass : public ::testing::TestWithParam<PassesCase> {};

TEST_P(EveryPass, ChangesWhatItShouldAndNoResult) {
  const Graph graph = GetParam().graph();
  const Optimized result = optimized(graph, all_but(GetParam().pass), GetParam().mode);
  EXPECT_EQ(static_cast<int>(result.notes.size()), GetParam().changes) << ::testing::PrintToString(result.notes);
  EXPECT_EQ(result.graph.nodes().size(), GetParam().nodes);
  for (const std::string& note : result.notes) EXPECT_EQ(note.find(GetParam().pass + ": "), 0u) << note;
  expect_same_results(graph, result.graph);
}

TEST_P(EveryPass, SwitchedOffChangesNothing) {
  std::set<std::string> disabled = all_but("");
  EXPECT_TRUE(optimized(GetParam().graph(), disabled).notes.empty());
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryPass, ::testing::ValuesIn(kPassesCases),
                         [](const auto& test) { return test.param.pass + "_" + test.param.name; });

/// Bytes of x times the same weights in two products, with these zero points.
Graph products_of_one(int first_zero, int second_zero) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 3}).node("Cast", {"x"}, "f", {{"to", kOnnxFloat}});
  graph.node_of_several("DynamicQuantizeLinear", {"f"}, {"x.bytes", "x.scale", "x.zero"});
  graph.constant("w", uniform_tensor(DType::u8, {3, 20}, 3, 0, 255));
  for (const auto& [name, zero] : {std::pair("a", first_zero), std::pair("b", second_zero)}) {
    const std::string zero_name = "zero" + std::to_string(zero), product = name;
    graph.constant(zero_name, uniform_tensor(DType::u8, {}, 3, zero, zero));
    graph.node("MatMulInteger", {"x.bytes", "w", "x.zero", zero_name}, product);
  }
  return graph.node("Add", {"a", "b"}, "sum").node("Cast", {"sum"}, "y", {{"to", kOnnxDouble}}).create({"y"});
}

std::size_t count_signed_weights(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(graph.initializers(), [](const auto& one) {
    return one.second.dtype() == DType::i8 && one.second.elements() > 1;
  }));
}

TEST(ReadyIntegers, MakesWeightsSignedOnceForAllNodesThatReadThem) {
  const Graph same = products_of_one(120, 120), other = products_of_one(120, 130);
  const Optimized shared = optimized(same, all_but("ready_integers")),
                  twice = optimized(other, all_but("ready_integers"));
  EXPECT_EQ(count_signed_weights(shared.graph), 1u);
  EXPECT_EQ(count_signed_weights(twice.graph), 2u);
  expect_same_results(same, shared.graph);
  expect_same_results(other, twice.graph);
}

TEST(ReadyIntegers, CopiesNoMoreThanMayBeAdded) {
  Bytes may_add = 59;  // weights take 60
  const auto rewrite = passes_detail::ready_integers(products_of_one(120, 130),
                                                     {.training = false, .evaluate = {}, .may_add = &may_add});
  ASSERT_TRUE(rewrite.ok()) << rewrite.error().message;
  EXPECT_EQ(rewrite->notes.size(), 1u);
  EXPECT_EQ(may_add, 59);
}

TEST(ReadyIntegers, MovesScalesOfSumsAlone) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 3}).node("Cast", {"x"}, "f", {{"to", kOnnxFloat}});
  graph.node_of_several("DynamicQuantizeLinear", {"f"}, {"x.bytes", "x.scale", "x.zero"});
  graph.constant("w", uniform_tensor(DType::i8, {3, 20}, 3, -100, 100)).constant("s", Tensor::of<float>({}, {0.5f}));
  graph.node("MatMulInteger", {"x.bytes", "w", "x.zero"}, "sums").node("Cast", {"sums"}, "g", {{"to", kOnnxFloat}});
  graph.node("Mul", {"x.scale", "s"}, "unrelated").node("Mul", {"x.scale", "s"}, "scale");
  graph.node("Mul", {"scale", "g"}, "scaled").node("Add", {"scaled", "unrelated"}, "z");
  const Graph original = graph.node("Cast", {"z"}, "y", {{"to", kOnnxDouble}}).create({"y"});
  const Optimized result = optimized(original, all_but("ready_integers"));
  ASSERT_EQ(result.notes.size(), 1u) << ::testing::PrintToString(result.notes);
  std::vector<std::string> order;
  for (const Node& node : result.graph.nodes()) order.push_back(node.name);
  EXPECT_EQ(order, (std::vector<std::string>{"f", "x.bytes", "scale", "sums", "g", "unrelated", "scaled", "z", "y"}));
  expect_same_results(original, result.graph);
}

TEST(PassCases, CoverEveryPass) {
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(std::any_of(std::begin(kPassesCases), std::end(kPassesCases), [&](const PassesCase& one) {
      return one.pass == pass.name && one.changes > 0;
    })) << pass.name;
  }
}

}  // namespace
}  // namespace mangrove
