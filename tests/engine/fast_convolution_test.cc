// Convolutions in inference by other algorithms than the direct one: the same results up to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

struct FastConvolutionCase {
  const char* name;
  std::int64_t batch, channels, size;
};

// images large enough for Winograd's algorithm; images so small that the batch lies inside
const FastConvolutionCase kFastConvolutionCases[] = {
    {"tiles", 6, 64, 16}, {"odd_size", 5, 64, 31}, {"two_by_two", 16, 64, 2}, {"pixel", 9, 96, 1}};

/// A residual block between convolutions that change the number of channels, all with biases, and a convolution that
/// shares its weights with one of the block.
Graph network(const FastConvolutionCase& c) {
  const std::map<std::string, Attribute> same{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const std::int64_t channels = c.channels;
  const double range = 1 / std::sqrt(9.0 * static_cast<double>(channels));
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 3, c.size, c.size}).parameter("b", {channels});
  sketch.parameter("w0", {channels, 3, 3, 3}, -0.2, 0.2).node("Conv", {"x", "w0", "b"}, "c0", same);
  for (const char* weights : {"w1", "w2", "shared"})
    sketch.parameter(weights, {channels, channels, 3, 3}, -range, range);
  sketch.parameter("w5", {64, channels, 1, 1}, -range, range);
  sketch.node("Conv", {"c0", "w1", "b"}, "c1", same).node("Relu", {"c1"}, "r1");
  sketch.node("Conv", {"r1", "w2"}, "c2", same).node("Add", {"c2", "c0"}, "a2").node("Relu", {"a2"}, "r2");
  sketch.node("Conv", {"r2", "shared", "b"}, "c3", same).node("Conv", {"c3", "shared"}, "c4", same);
  sketch.node("Conv", {"c4", "w5"}, "c5");
  return sketch.node("GlobalAveragePool", {"c5"}, "pool").create({"r2", "c5", "pool"});
}

std::unique_ptr<Execution> run_convolution(const Graph& graph, const FastConvolutionCase& c, const std::string& backend,
                                           bool fast) {
  const auto program = Program::compile(graph, {.batch = c.batch, .backend = backend, .fast_convolution = fast});
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = std::move(Execution::create(*program)).value();
  EXPECT_TRUE(execution->set_input("x", uniform_tensor(DType::f32, {c.batch, 3, c.size, c.size}, 3)).ok());
  execution->forward();
  return execution;
}

class FastConvolution : public ::testing::TestWithParam<std::string> {};

TEST_P(FastConvolution, EqualsPortable) {
  for (const FastConvolutionCase& c : kFastConvolutionCases) {
    SCOPED_TRACE(c.name);
    const Graph graph = network(c);
    const auto expected = run_convolution(graph, c, "portable", true);
    for (const bool fast : {false, true}) {
      const auto found = run_convolution(graph, c, GetParam(), fast);
      for (const std::string& name : graph.outputs()) {
        const Tensor a = found->output_tensor(name), b = expected->output_tensor(name);
        for (std::size_t i = 0; i < a.as<float>().size(); ++i)
          ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], 2e-5) << name << " " << i << (fast ? " fast" : " direct");
      }
    }
  }
}

TEST_P(FastConvolution, SwitchedOffLeavesWeightsReadable) {
  for (const FastConvolutionCase& c : kFastConvolutionCases) {
    SCOPED_TRACE(c.name);
    const Graph graph = network(c);
    const auto direct = run_convolution(graph, c, GetParam(), false);
    for (const std::string& name : graph.parameters()) {
      const Tensor kept = direct->parameter(name), &given = graph.initializers().at(name);
      EXPECT_TRUE(std::ranges::equal(kept.as<float>(), given.as<float>())) << name;
    }
  }
}

TEST_P(FastConvolution, TakesNewWeights) {
  for (const FastConvolutionCase& c : kFastConvolutionCases) {
    SCOPED_TRACE(c.name);
    const Graph graph = network(c);
    const auto fast = run_convolution(graph, c, GetParam(), true),
               expected = run_convolution(graph, c, "portable", true);
    const Tensor weights = uniform_tensor(DType::f32, graph.initializers().at("w1").shape(), 8, -0.02, 0.02);
    for (const auto& execution : {fast.get(), expected.get()}) {
      ASSERT_TRUE(execution->set_parameter("w1", weights).ok());
      execution->forward();
    }
    const auto a = fast->output<float>("pool"), b = expected->output<float>("pool");
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FastConvolution, ::testing::ValuesIn(fast_backends()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
