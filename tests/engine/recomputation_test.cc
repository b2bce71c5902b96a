// Results made again in the backward pass instead of being kept: the same numbers in less memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/engine/gradient_check.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

std::vector<std::string> all_nodes(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

std::unique_ptr<Execution> recomputing_execution(const Graph& graph, const std::string& backend,
                                                 const std::vector<std::string>& recompute, std::int64_t batch) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = batch;
  options.backend = backend;
  options.recompute = recompute;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = Execution::create(std::move(program).value());
  EXPECT_TRUE(execution.ok()) << execution.error().message;
  return std::move(execution).value();
}

void run_training(Execution& execution) {
  const Graph& graph = execution.program().graph();
  execution.seed(7);
  for (const auto& [name, info] : graph.inputs()) {
    const Shape shape = info.shape.with_batch(execution.program().options().batch);
    EXPECT_TRUE(execution.set_input(name, uniform_tensor(info.dtype, shape, 3)).ok());
  }
  execution.forward();
  for (const std::string& name : graph.outputs()) {
    const auto gradient = execution.output_gradient<float>(name);
    const Tensor drawn = uniform_tensor(DType::f32, Shape{static_cast<std::int64_t>(gradient.size())}, 4);
    std::copy(drawn.as<float>().begin(), drawn.as<float>().end(), gradient.begin());
  }
  execution.backward();
}

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& name) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())), 0) << name;
}

/// A chain of convolutions, normalizations and activations, deep enough that keeping all of it costs.
Graph deep_recomputed_graph() {
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 4, 8, 8});
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    sketch.parameter("w" + n, {4, 4, 3, 3}, -0.5, 0.5).parameter("scale" + n, {4}, 0.5, 1.5).parameter("bias" + n, {4});
    sketch.constant("mean" + n, Tensor(DType::f32, Shape{4}));
    sketch.constant("variance" + n, Tensor::of<float>(Shape{4}, {1, 1, 1, 1}));
    sketch.node("Conv", {last, "w" + n}, "conv" + n, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    sketch.node("BatchNormalization", {"conv" + n, "scale" + n, "bias" + n, "mean" + n, "variance" + n}, "norm" + n);
    sketch.node("Relu", {"norm" + n}, "relu" + n);
    last = "relu" + n;
  }
  return sketch.node("GlobalAveragePool", {last}, "pool").node("Flatten", {"pool"}, "y").create({"y"});
}

/// A gate that is computed from the very value that it scales: squeeze-and-excitation.
Graph gated_graph() {
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 4, 8, 8});
  std::string last = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    sketch.parameter("w" + n, {4, 4, 3, 3}, -0.5, 0.5).parameter("scale" + n, {4}, 0.5, 1.5).parameter("bias" + n, {4});
    sketch.parameter("gate_w" + n, {4, 4, 1, 1});
    sketch.constant("mean" + n, Tensor(DType::f32, Shape{4}));
    sketch.constant("variance" + n, Tensor::of<float>(Shape{4}, {1, 1, 1, 1}));
    sketch.node("Conv", {last, "w" + n}, "conv" + n, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    sketch.node("BatchNormalization", {"conv" + n, "scale" + n, "bias" + n, "mean" + n, "variance" + n}, "norm" + n);
    sketch.node("Relu", {"norm" + n}, "relu" + n);
    sketch.node("GlobalAveragePool", {"relu" + n}, "squeezed" + n);
    sketch.node("Conv", {"squeezed" + n, "gate_w" + n}, "excited" + n);
    sketch.node("Sigmoid", {"excited" + n}, "gate" + n);
    sketch.node("Mul", {"relu" + n, "gate" + n}, "gated" + n);
    last = "gated" + n;
  }
  return sketch.node("GlobalAveragePool", {last}, "pool").node("Flatten", {"pool"}, "y").create({"y"});
}

class Recomputation : public ::testing::TestWithParam<std::string> {};

void expect_same_gradients(const Graph& graph, const std::string& backend, const std::vector<std::string>& recompute) {
  const auto kept = recomputing_execution(graph, backend, {}, 3);
  const auto made_again = recomputing_execution(graph, backend, recompute, 3);
  for (int step = 0; step < 2; ++step) {
    run_training(*kept);
    run_training(*made_again);
    for (const std::string& name : graph.outputs()) {
      expect_same_bits(made_again->output_tensor(name), kept->output_tensor(name), name);
    }
    for (const std::string& name : graph.parameters()) {
      expect_same_bits(made_again->gradient(name), kept->gradient(name), "gradient of " + name);
    }
    for (const std::string& name : graph.states()) {
      expect_same_bits(made_again->parameter(name), kept->parameter(name), "state " + name);
    }
  }
}

TEST_P(Recomputation, OfEveryNodeGivesTheSameBits) {
  for (const Graph& graph :
       {tiny_lenet(DType::f32), branching_graph(DType::f32), deep_recomputed_graph(), gated_graph()}) {
    expect_same_gradients(graph, GetParam(), all_nodes(graph));
  }
}

TEST_P(Recomputation, OfAnySingleNodeGivesTheSameBits) {
  for (const Graph& graph : {tiny_lenet(DType::f32), branching_graph(DType::f32)}) {
    for (const Node& node : graph.nodes()) {
      SCOPED_TRACE(node.name);
      expect_same_gradients(graph, GetParam(), {node.name});
    }
  }
}

TEST_P(Recomputation, NeedsLessMemory) {
  const Graph graph = deep_recomputed_graph();
  std::vector<std::string> all_but_one_cut;
  for (const std::string& name : all_nodes(graph)) {
    if (name != "relu5" && name != "norm5") all_but_one_cut.push_back(name);
  }
  const Bytes kept = recomputing_execution(graph, GetParam(), {}, 8)->program().memory().arena;
  const Bytes cut = recomputing_execution(graph, GetParam(), all_but_one_cut, 8)->program().memory().arena;
  EXPECT_LT(static_cast<double>(cut), 0.8 * static_cast<double>(kept));
}

TEST_P(Recomputation, AccumulatedGradientsAreTheSumOfThePasses) {
  for (const Graph& graph : {tiny_lenet(DType::f32), branching_graph(DType::f32)}) {
    CompileOptions options;
    options.mode = Mode::training;
    options.batch = 2;
    options.backend = GetParam();
    const auto single = Execution::create(Program::compile(graph, options).value()).value();
    options.accumulate_gradients = true;
    options.recompute = all_nodes(graph);
    const auto summed = Execution::create(Program::compile(graph, options).value()).value();
    for (int batch = 0; batch < 2; ++batch) {  // the second starts from zero again
      run_training(*single);
      summed->zero_gradients();
      for (int pass = 0; pass < 3; ++pass) run_training(*summed);
      for (const std::string& name : graph.parameters()) {
        const Tensor one = single->gradient(name), three = summed->gradient(name);
        for (std::size_t i = 0; i < one.as<float>().size(); ++i) {
          EXPECT_NEAR(three.as<float>()[i], 3 * one.as<float>()[i], 1e-5 * (1 + std::abs(one.as<float>()[i]))) << name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Recomputation,
                         ::testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
