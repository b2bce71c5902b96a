#include "tests/engine/optimized_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

std::map<std::string, Tensor> run_optimized(const Graph& graph, std::int64_t batch) {
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

}  // namespace

Optimized optimized(const Graph& graph, std::set<std::string> disabled, Mode mode) {
  Result<Optimized> result = optimize(graph, {.mode = mode, .disabled = std::move(disabled)});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

void expect_same_results(const Graph& graph, const Graph& other) {
  ASSERT_EQ(graph.outputs(), other.outputs());
  ASSERT_EQ(graph.inputs(), other.inputs());
  for (const std::int64_t batch : {1, 3}) {
    const auto expected = run_optimized(graph, batch), found = run_optimized(other, batch);
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

Graph conv_norm(const std::map<std::string, Attribute>& attributes, const Shape& weights, std::int64_t channels,
                bool bias) {
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

GraphSketch& add_bytes(GraphSketch& graph, const std::string& input, const std::string& name, float scale) {
  return graph.constant(name + ".scale", Tensor::of<float>({}, {scale}))
      .constant(name + ".zero", Tensor::of<std::int8_t>({}, {0}))
      .node("QuantizeLinear", {input, name + ".scale", name + ".zero"}, name + ".bytes")
      .node("DequantizeLinear", {name + ".bytes", name + ".scale", name + ".zero"}, name);
}

}  // namespace mangrove
