#include "tests/engine/operator_samples.h"

#include "tests/engine/sample_graphs.h"

namespace mangrove {

using Role = SampleInput::Role;

SampleInput fed(Shape shape, double low, double high) {
  return {.role = Role::fed, .shape = std::move(shape), .low = low, .high = high};
}

SampleInput fed_type(DType dtype, Shape shape, double low, double high) {
  return {.role = Role::fed, .shape = std::move(shape), .low = low, .high = high, .dtype = dtype};
}

SampleInput parameter(Shape shape, double low, double high) {
  return {.role = Role::parameter, .shape = std::move(shape), .low = low, .high = high};
}

SampleInput constant(Tensor value) {
  const DType dtype = value.dtype();
  return {.role = Role::constant, .constant = std::move(value), .dtype = dtype};
}

SampleInput scalar(double value) {
  return {.role = Role::constant, .constant = Tensor::of<double>({}, {value})};
}

SampleInput integers(const std::vector<std::int64_t>& values) {
  return constant(Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

SampleInput absent() {
  return {.role = Role::absent};
}

std::vector<OperatorSample> operator_samples() {
  std::vector<OperatorSample> all;
  for (const auto family : {samples::activations, samples::arithmetic, samples::constants, samples::convolutions,
                            samples::indexing, samples::logic, samples::movement, samples::normalizations,
                            samples::pools, samples::products, samples::quantization, samples::recurrent,
                            samples::reductions, samples::regularization, samples::shapes, samples::softmaxes}) {
    for (OperatorSample& sample : family()) all.push_back(std::move(sample));
  }
  return all;
}

namespace {

Tensor constant_of(const SampleInput& input, DType dtype) {
  if (input.dtype || dtype == DType::f64) return input.constant;
  return Tensor::of<float>({}, {static_cast<float>(input.constant.as<double>()[0])});
}

}  // namespace

Graph sample_graph(const OperatorSample& sample, DType dtype) {
  GraphSketch sketch(dtype);
  std::vector<std::string> names, outputs{"y"};
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    const std::string name = input.role == Role::absent ? "" : "in" + std::to_string(i);
    names.push_back(name);
    if (input.role == Role::fed) sketch.input(name, input.shape, input.dtype);
    if (input.role == Role::parameter) sketch.parameter(name, input.shape, input.low, input.high);
    if (input.role == Role::constant) sketch.constant(name, constant_of(input, dtype));
  }
  for (std::size_t i = 1; i < sample.outputs; ++i) outputs.push_back("y" + std::to_string(i));
  return sketch.node_of_several(sample.op, names, outputs, sample.attributes).create(outputs);
}

Tensor sample_input(const OperatorSample& sample, const Graph& graph, const std::string& name, std::int64_t batch,
                    std::uint64_t seed) {
  const auto index = static_cast<std::size_t>(std::stoi(name.substr(2)));
  const SampleInput& input = sample.inputs[index];
  const ValueInfo& info = graph.value(name);
  return uniform_tensor(info.dtype, info.shape.with_batch(batch), seed + index, input.low, input.high);
}

}  // namespace mangrove
