#include "mangrove/engine/optimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/engine/operator_samples.h"
#include "tests/engine/optimized_graphs.h"

#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/passes/passes.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

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

TEST(Optimize, ConstantsThatMakeMuchFromLittleStayComputed) {
  // 200 times 900 kB, each from a number; the file of such a graph has some kilobytes
  GraphSketch graph = sketch();
  graph.input("x", {kBatch, 4});
  std::vector<std::string> outputs;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "v" + std::to_string(i);
    graph.constant(name + ".n", Tensor::of<float>(Shape{1}, {static_cast<float>(i)}));
    graph.constant(name + ".s", Tensor::of<std::int64_t>(Shape{1}, {225'000}));
    graph.node("Expand", {name + ".n", name + ".s"}, name + ".e");
    graph.node("Tanh", {name + ".e"}, name);
    outputs.push_back(name);
  }
  const auto result = optimize(graph.create(outputs), {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  Bytes bytes = 0;
  for (const auto& [name, tensor] : result->graph.initializers()) bytes += tensor.bytes();
  EXPECT_GT(bytes, MiB(30)) << "some are computed once";
  EXPECT_LT(bytes, MiB(70));
}

/// A convolution on bytes with one scale and zero point, as tools for dynamic quantization write it.
void add_integer_convolution(GraphSketch& graph, const std::string& input, const std::string& name) {
  graph.node("Cast", {input}, name + ".f", {{"to", kOnnxFloat}});
  graph.node_of_several("DynamicQuantizeLinear", {name + ".f"}, {name + ".a", name + ".scale", name + ".zero"});
  graph.constant(name + ".w", uniform_tensor(DType::u8, {4, 4, 1, 1}, 3, 0, 255));
  graph.constant(name + ".w.zero", Tensor::of<std::uint8_t>({}, {120}));
  graph.constant(name + ".w.scale", Tensor::of<float>({}, {0.005f}));
  graph.node("ConvInteger", {name + ".a", name + ".w", name + ".zero", name + ".w.zero"}, name + ".sums");
  graph.node("Cast", {name + ".sums"}, name + ".g", {{"to", kOnnxFloat}});
  graph.node("Mul", {name + ".scale", name + ".w.scale"}, name + ".scales");
  graph.node("Mul", {name + ".g", name + ".scales"}, name + ".scaled");
  graph.node("Cast", {name + ".scaled"}, name, {{"to", kOnnxDouble}});
}

// A random graph of small values [N, 4, 3, 3]: convolutions with and without norms and on bytes, activations, sums,
// identities, sub-expressions of constants, nodes made twice and nodes that nobody reads.
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
    switch (below(10)) {
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
      case 7:
        add_integer_convolution(graph, input, name);
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
