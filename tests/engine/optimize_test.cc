#include "mangrove/engine/optimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "operator_samples.h"
#include "sample_graphs.h"

#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/passes/passes.h"

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

Optimized optimized(const Graph& graph, std::set<std::string> disabled = {}, Mode mode = Mode::inference) {
  Result<Optimized> result = optimize(graph, {.mode = mode, .disabled = std::move(disabled)});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

std::map<std::string, Tensor> run(const Graph& graph, std::int64_t batch) {
  CompileOptions options;
  options.backend = "portable";
  options.batch = batch;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = Execution::create(std::move(program).value()).value();
  std::uint64_t seed = 3;
  for (const auto& [name, info] : graph.inputs()) {
    const Tensor value = uniform_tensor(info.dtype, info.shape.with_batch(batch), seed++);
    EXPECT_TRUE(execution->set_input(name, value).ok());
  }
  execution->forward();
  std::map<std::string, Tensor> outputs;
  for (const std::string& name : graph.outputs()) outputs.emplace(name, execution->output_tensor(name));
  return outputs;
}

std::map<std::string, Tensor> run_sample(const OperatorSample& sample, const Graph& graph) {
  CompileOptions options;
  options.backend = "portable";
  options.batch = 2;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = Execution::create(std::move(program).value()).value();
  for (const auto& [name, info] : graph.inputs()) {
    EXPECT_TRUE(execution->set_input(name, sample_input(sample, graph, name, 2, 9)).ok());
  }
  execution->forward();
  std::map<std::string, Tensor> outputs;
  for (const std::string& name : graph.outputs()) outputs.emplace(name, execution->output_tensor(name));
  return outputs;
}

void expect_same_results(const Graph& graph, const Graph& other) {
  ASSERT_EQ(graph.outputs(), other.outputs());
  ASSERT_EQ(graph.inputs(), other.inputs());
  for (const std::int64_t batch : {1, 3}) {
    const auto expected = run(graph, batch), found = run(other, batch);
    for (const auto& [name, tensor] : expected) {
      ASSERT_EQ(found.at(name).shape(), tensor.shape()) << name;
      ASSERT_EQ(found.at(name).dtype(), DType::f64) << name;
      const auto a = tensor.as<double>(), b = found.at(name).as<double>();
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i], b[i], 1e-6 * std::max(1.0, std::abs(a[i]))) << name;
      }
    }
  }
}

GraphSketch sketch() {
  return GraphSketch(DType::f64);
}

GraphSketch& add_norm(GraphSketch& graph, const std::string& input, const std::string& output, std::int64_t channels) {
  return graph.parameter(output + ".scale", {channels}, 0.5, 2)
      .parameter(output + ".bias", {channels})
      .parameter(output + ".mean", {channels})
      .parameter(output + ".variance", {channels}, 0.1, 3)
      .node("BatchNormalization", {input, output + ".scale", output + ".bias", output + ".mean", output + ".variance"},
            output, {{"epsilon", 1e-3f}});
}

Graph conv_norm(const Attributes& attributes, const Shape& weights, std::int64_t channels, bool bias) {
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 4, 5, 5}).parameter("w", weights);
  std::vector<std::string> inputs{"x", "w"};
  if (bias) {
    graph.parameter("b", {channels});
    inputs.push_back("b");
  }
  graph.node("Conv", inputs, "conv", attributes);
  return add_norm(graph, "conv", "y", channels).create({"y"});
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

constexpr std::int64_t kOnnxFloat = 1, kOnnxDouble = 11;  // as Cast calls them

/// "name": `input` as bytes of this scale, dequantized.
GraphSketch& add_bytes(GraphSketch& graph, const std::string& input, const std::string& name, float scale) {
  return graph.constant(name + ".scale", Tensor::of<float>({}, {scale}))
      .constant(name + ".zero", Tensor::of<std::int8_t>({}, {0}))
      .node("QuantizeLinear", {input, name + ".scale", name + ".zero"}, name + ".bytes")
      .node("DequantizeLinear", {name + ".bytes", name + ".scale", name + ".zero"}, name);
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

struct Case {
  std::string name;
  std::string pass;
  std::function<Graph()> graph;
  int changes;        // notes of the pass, when it runs alone
  std::size_t nodes;  // left
  Mode mode = Mode::inference;
};

const Attributes kTransposed{{"transB", std::int64_t{1}}};

const Case kCases[] = {
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

class EveryPass : public ::testing::TestWithParam<Case> {};

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

INSTANTIATE_TEST_SUITE_P(Cases, EveryPass, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.pass + "_" + test.param.name; });

TEST(Optimize, EveryPassIsCovered) {
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& one) {
      return one.pass == pass.name && one.changes > 0;
    })) << pass.name;
  }
}

TEST(Optimize, TrainingKeepsParametersAndTheirOrder) {
  const Graph graph = conv_norm({}, {3, 4, 3, 3}, 3, true);
  const Optimized result = optimized(graph, {}, Mode::training);
  EXPECT_EQ(result.graph.parameters(), graph.parameters());
  EXPECT_EQ(result.graph.states(), graph.states());
}

// Gradients of the parameters after one step on inputs and output gradients of ones.
std::map<std::string, Tensor> gradients(const Graph& graph) {
  CompileOptions options;
  options.backend = "portable";
  options.mode = Mode::training;
  options.batch = 2;
  auto execution = Execution::create(Program::compile(graph, options).value()).value();
  for (const auto& [name, info] : graph.inputs()) {
    EXPECT_TRUE(execution->set_input(name, uniform_tensor(info.dtype, info.shape.with_batch(2), 5)).ok());
  }
  execution->forward();
  for (const std::string& name : graph.outputs()) std::ranges::fill(execution->output_gradient<double>(name), 1.0);
  execution->backward();
  std::map<std::string, Tensor> found;
  for (const std::string& name : graph.parameters()) found.emplace(name, execution->gradient(name));
  return found;
}

TEST(Optimize, TrainingKeepsGradients) {
  GraphSketch sketched = sketch();
  sketched.input("x", {kBatch, 4}).parameter("v", {4, 4}).parameter("w", {4, 3}).parameter("unused", {3});
  const Graph graph = sketched.node("Gemm", {"x", "v"}, "a")
                          .node("Identity", {"a"}, "same")
                          .node("Tanh", {"a"}, "b")
                          .node("Tanh", {"same"}, "c")
                          .node("Mul", {"b", "c"}, "d")
                          .node("Tanh", {"d"}, "nobody")
                          .node("Gemm", {"d", "w"}, "y")
                          .create({"y"});
  const Optimized result = optimized(graph, {}, Mode::training);
  EXPECT_EQ(result.graph.nodes().size(), 4u);
  const auto expected = gradients(graph), found = gradients(result.graph);
  ASSERT_EQ(found.size(), 2u);
  for (const auto& [name, gradient] : found) {
    for (std::int64_t i = 0; i < gradient.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_NEAR(gradient.as<double>()[at], expected.at(name).as<double>()[at], 1e-12) << name;
    }
  }
}

// What people feed to each operator, with constants of which some fold.
TEST(Optimize, EveryOperatorSampleKeepsItsResults) {
  for (const OperatorSample& sample : operator_samples()) {
    SCOPED_TRACE(sample.op);
    const Graph graph = sample_graph(sample, DType::f64);
    const Graph other = optimized(graph).graph;
    ASSERT_EQ(graph.outputs(), other.outputs());
    const auto expected = run_sample(sample, graph), found = run_sample(sample, other);
    for (const std::string& name : graph.outputs()) {
      ASSERT_EQ(found.at(name).shape(), expected.at(name).shape());
      if (graph.value(name).dtype != DType::f64) {
        EXPECT_EQ(std::memcmp(found.at(name).data(), expected.at(name).data(),
                              static_cast<std::size_t>(expected.at(name).bytes())),
                  0);
        continue;
      }
      const auto a = expected.at(name).as<double>(), b = found.at(name).as<double>();
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * std::max(1.0, std::abs(a[i])));
    }
  }
}

TEST(Optimize, UnknownPassIsAnErrorWithTheNearestName) {
  const auto result = optimize(tiny_lenet(DType::f32), {.disabled = {"fold_batchnorm"}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.code(), Code::invalid_argument);
  EXPECT_NE(result.error().message.find("'fold_batchnorm'; did you mean 'fold_batch_norm'?"), std::string::npos)
      << result.error().message;
  EXPECT_TRUE(check_pass_names({"fuse"}).ok());
}

// A random graph of small values [N, 4, 3, 3]: convolutions with and without norms, activations, sums, identities,
// sub-expressions of constants, nodes made twice and nodes that nobody reads.
Graph random_graph(std::uint64_t seed) {
  Random random(seed);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.uniform(0, 0.999999f) * static_cast<float>(n));
  };
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 4, 3, 3});
  std::vector<std::string> values{"x"};
  for (int i = 0; i < 12; ++i) {
    const std::string name = "v" + std::to_string(i);
    const std::string input = values[below(values.size())];
    switch (below(9)) {
      case 0:
        graph.parameter(name + ".w", {4, 4, 1, 1}).node("Conv", {input, name + ".w"}, name);
        break;
      case 1:
        graph.parameter(name + ".w", {4, 4, 1, 1}).node("Conv", {input, name + ".w"}, name + ".conv");
        add_norm(graph, name + ".conv", name, 4);
        break;
      case 2:
        graph.node("Identity", {input}, name);
        break;
      case 3:
        graph.node("Dropout", {input}, name);
        break;
      case 4:
        graph.node("Add", {input, values[below(values.size())]}, name);
        break;
      case 5:
        graph.parameter(name + ".c", {4, 1, 1}).node("Tanh", {name + ".c"}, name + ".t");
        graph.node("Mul", {input, name + ".t"}, name);
        break;
      case 6:
        graph.node("Cast", {input}, name + ".f", {{"to", kOnnxFloat}});
        add_bytes(graph, name + ".f", name + ".a", 0.01f);
        graph.node("Transpose", {name + ".a"}, name + ".b", {{"perm", Ints{0, 1, 3, 2}}});
        add_bytes(graph, name + ".b", name + ".c", 0.01f);
        graph.node("Cast", {name + ".c"}, name, {{"to", kOnnxDouble}});
        break;
      default:
        graph.node("Tanh", {input}, name);
    }
    values.push_back(name);
  }
  std::vector<std::string> outputs{values.back()};
  if (const std::string& other = values[1 + below(values.size() - 2)]; other != outputs[0]) outputs.push_back(other);
  return graph.create(outputs);
}

TEST(Optimize, RandomGraphsKeepTheirResults) {
  std::map<std::string, int> fired;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed);
    const Optimized all = optimized(graph);
    expect_same_results(graph, all.graph);
    for (const std::string& note : all.notes) ++fired[note.substr(0, note.find(':'))];
    for (const Pass& pass : passes()) expect_same_results(graph, optimized(graph, {std::string(pass.name)}).graph);
    EXPECT_TRUE(optimized(all.graph).notes.empty()) << "a second run finds nothing more";
  }
  for (const Pass& pass : passes()) EXPECT_GE(fired[std::string(pass.name)], 10) << pass.name;
}

}  // namespace
}  // namespace mangrove
