#include "tests/engine/backend_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

void fill_inputs(std::span<float> values, Random& random, float scale = 1) {
  for (float& value : values) value = scale * static_cast<float>(random.uniform(-1, 1));
}

std::vector<float> copy_of(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

void expect_close(const std::string& name, const std::vector<float>& found, const std::vector<float>& expected,
                  double tolerance) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  double largest = 1e-6, error = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << name << " element " << i;
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    const double difference = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (difference > error) where = i;
    error = std::max(error, difference);
  }
  EXPECT_LE(error, tolerance * largest) << name << " element " << where << ": " << found[where] << ", expected "
                                        << expected[where];
}

}  // namespace

Tensor random_tensor(const Shape& shape, std::uint64_t seed, float scale) {
  Tensor tensor(DType::f32, shape);
  Random random(seed);
  fill_inputs(tensor.as<float>(), random, scale);
  return tensor;
}

std::vector<std::string> fast_backends() {
  std::vector<std::string> names(backend_names().begin(), backend_names().end());
  std::erase(names, "portable");
  return names;
}

std::unique_ptr<Execution> make_execution(const Graph& graph, const std::string& backend, std::int64_t batch, bool fuse,
                                          int threads) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = batch;
  options.backend = backend;
  options.input_gradients = true;
  options.fuse = fuse;
  options.threads = threads;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << backend << ": " << (program.ok() ? "" : program.error().message);
  if (!program.ok()) return nullptr;
  auto execution = Execution::create(*program, threads);
  EXPECT_TRUE(execution.ok()) << backend << ": " << (execution.ok() ? "" : execution.error().message);
  return execution.ok() ? std::move(execution).value() : nullptr;
}

StepOutcome run_step(Execution& execution, std::uint64_t seed) {
  const Graph& graph = execution.program().graph();
  Random random(seed);
  for (const auto& [name, info] : graph.inputs()) fill_inputs(execution.input<float>(name), random);
  execution.forward();
  for (const std::string& name : graph.outputs()) fill_inputs(execution.output_gradient<float>(name), random);
  execution.backward();
  StepOutcome outcome;
  for (const std::string& name : graph.outputs()) outcome.outputs[name] = copy_of(execution.output_tensor(name));
  for (const std::string& name : graph.parameters()) outcome.gradients[name] = copy_of(execution.gradient(name));
  for (const auto& [name, info] : graph.inputs()) outcome.gradients[name] = copy_of(execution.gradient(name));
  return outcome;
}

void expect_close(const StepOutcome& found, const StepOutcome& expected, double tolerance) {
  ASSERT_EQ(found.gradients.size(), expected.gradients.size());
  for (const auto& [name, values] : expected.outputs) expect_close(name, found.outputs.at(name), values, tolerance);
  for (const auto& [name, values] : expected.gradients)
    expect_close("gradient of " + name, found.gradients.at(name), values, tolerance);
}

}  // namespace mangrove
