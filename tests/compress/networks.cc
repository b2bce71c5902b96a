#include "tests/compress/networks.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"

namespace mangrove::compress {

NetworkWriter::NetworkWriter(Shape input) : random_(11) {
  parts_.name = "network";
  parts_.inputs = {{"x", {DType::f32, std::move(input)}}};
}

NetworkWriter& NetworkWriter::node(const std::string& op, const std::string& result, std::vector<std::string> inputs,
                                   std::map<std::string, Attribute> attributes) {
  parts_.nodes.push_back({.name = result,
                          .op = op,
                          .attributes = std::move(attributes),
                          .inputs = std::move(inputs),
                          .outputs = {result}});
  return *this;
}

NetworkWriter& NetworkWriter::weights(const std::string& name, Shape shape, double deviation) {
  Tensor tensor(DType::f32, std::move(shape));
  for (float& x : tensor.as<float>()) x = static_cast<float>(deviation * random_.normal());
  return constant(name, std::move(tensor));
}

NetworkWriter& NetworkWriter::constant(const std::string& name, Tensor tensor) {
  parts_.initializers.insert_or_assign(name, std::move(tensor));
  return *this;
}

Graph NetworkWriter::finish(std::vector<std::string> outputs) {
  parts_.outputs = std::move(outputs);
  auto graph = Graph::create(parts_);
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return std::move(graph).value();
}

Tensor random_input(const Graph& graph, std::int64_t batch, std::uint64_t seed) {
  Tensor x(DType::f32, graph.inputs()[0].second.shape.with_batch(batch));
  Random random(seed);
  for (float& element : x.as<float>()) element = static_cast<float>(random.normal());
  return x;
}

std::vector<float> run(const Graph& graph, const Tensor& x) {
  const auto program = Program::compile(graph, {.batch = x.shape()[0], .backend = "portable"});
  MG_CHECK_MSG(program.ok(), program.error().message);
  const auto execution = Execution::create(*program).value();
  MG_CHECK(execution->set_input(graph.inputs()[0].first, x).ok());
  execution->forward();
  const auto output = execution->output<float>(graph.outputs()[0]);
  return {output.begin(), output.end()};
}

std::map<std::string, Histogram> calibrated(const Graph& graph, const QuantizationPlan& plan) {
  auto calibrator = Calibrator::create(graph, plan.observed(), {.batch = 8, .backend = "portable"});
  MG_CHECK_MSG(calibrator.ok(), calibrator.error().message);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    MG_CHECK(calibrator->execution().set_input(graph.inputs()[0].first, random_input(graph, 8, seed)).ok());
    const Status seen = calibrator->observe();
    MG_CHECK_MSG(seen.ok(), seen.error().message);
  }
  return calibrator->histograms();
}

Graph quantized(const Graph& graph, const QuantizeOptions& options) {
  const auto plan = plan_quantization(graph, options);
  MG_CHECK_MSG(plan.ok(), plan.error().message);
  auto result = quantize_static(graph, *plan, calibrated(graph, *plan), range_methods()[0]);
  MG_CHECK_MSG(result.ok(), result.error().message);
  return std::move(result).value();
}

double signal_to_noise(const std::vector<float>& signal, const std::vector<float>& with_noise) {
  MG_CHECK(signal.size() == with_noise.size());
  double power = 0, noise = 0;
  for (std::size_t i = 0; i < signal.size(); ++i) {
    power += static_cast<double>(signal[i]) * signal[i];
    noise += std::pow(static_cast<double>(signal[i]) - with_noise[i], 2);
  }
  return 10 * std::log10(power / noise);
}

const Node& maker(const Graph& graph, const std::string& value) {
  const auto found = std::ranges::find_if(
      graph.nodes(), [&](const Node& node) { return std::ranges::count(node.outputs, value) > 0; });
  MG_CHECK_MSG(found != graph.nodes().end(), "nothing makes " + value);
  return *found;
}

std::vector<const Node*> readers(const Graph& graph, const std::string& value) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes()) {
    if (std::ranges::count(node.inputs, value) > 0) found.push_back(&node);
  }
  return found;
}

}  // namespace mangrove::compress
