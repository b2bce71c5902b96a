#include "tests/engine/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

constexpr double kStep = 1e-5;

double loss_of(Execution& execution, const std::map<std::string, std::vector<double>>& weights) {
  execution.forward();
  double loss = 0;
  for (const auto& [name, factors] : weights) {
    const auto output = execution.output<double>(name);
    for (std::size_t i = 0; i < factors.size(); ++i) loss += factors[i] * output[i];
  }
  return loss;
}

double largest_difference(const Tensor& value, const Tensor& gradient,
                          const std::function<double(const Tensor&)>& loss) {
  double largest = 0;
  const Tensor moved = value.clone();
  Tensor writable = moved;
  const auto elements = writable.as<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double before = elements[i];
    elements[i] = before + kStep;
    const double above = loss(moved);
    elements[i] = before - kStep;
    const double below = loss(moved);
    elements[i] = before;
    const double numeric = (above - below) / (2 * kStep), analytic = gradient.as<double>()[i];
    const double error = std::abs(numeric - analytic) / std::max({1.0, std::abs(numeric), std::abs(analytic)});
    if (!(error <= largest)) largest = error;  // NaN counts as an error
  }
  loss(value);
  return largest;
}

}  // namespace

double gradient_error(Execution& execution, std::uint64_t seed, const std::map<std::string, Tensor>& given) {
  const Graph& graph = execution.program().graph();
  Random random(seed);
  const auto draw = [&](std::span<double> values) {
    for (double& value : values) value = random.uniform(-1, 1);
  };
  for (const auto& [name, info] : graph.inputs()) {
    if (const auto value = given.find(name); value != given.end()) {
      EXPECT_TRUE(execution.set_input(name, value->second).ok()) << name;
    } else {
      draw(execution.input<double>(name));
    }
  }
  std::map<std::string, std::vector<double>> weights;
  for (const std::string& name : graph.outputs()) {
    if (graph.value(name).dtype != DType::f64) continue;
    const auto gradient = execution.output_gradient<double>(name);
    draw(gradient);
    weights[name].assign(gradient.begin(), gradient.end());
  }
  execution.forward();
  execution.backward();

  double largest = 0;
  std::map<std::string, Tensor> gradients;
  for (const std::string& name : graph.parameters()) gradients[name] = execution.gradient(name);
  for (const auto& [name, info] : graph.inputs()) {
    if (info.dtype == DType::f64) gradients[name] = execution.gradient(name);
  }
  for (const auto& [name, gradient] : gradients) {
    const bool is_parameter = graph.initializers().contains(name);
    const auto loss = [&, key = name](const Tensor& value) {
      const Status set = is_parameter ? execution.set_parameter(key, value) : execution.set_input(key, value);
      EXPECT_TRUE(set.ok());
      return loss_of(execution, weights);
    };
    const Tensor value = is_parameter ? execution.parameter(name) : execution.output_tensor(name);
    const double error = largest_difference(value, gradient, loss);
    EXPECT_LT(error, 1e-6) << name;
    largest = std::max(largest, error);
  }
  return largest;
}

std::unique_ptr<Execution> training_execution(const Graph& graph, const std::string& backend, std::int64_t batch) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = batch;
  options.backend = backend;
  options.input_gradients = true;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = Execution::create(std::move(program).value());
  EXPECT_TRUE(execution.ok()) << execution.error().message;
  return std::move(execution).value();
}

}  // namespace mangrove
