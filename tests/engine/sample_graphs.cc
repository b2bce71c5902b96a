#include "sample_graphs.h"

#include <gtest/gtest.h>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Role = SampleInput::Role;

SampleInput fed(Shape shape) {
  return {.role = Role::fed, .shape = std::move(shape)};
}
SampleInput parameter(Shape shape) {
  return {.role = Role::parameter, .shape = std::move(shape)};
}
SampleInput constant(Tensor value) {
  return {.role = Role::constant, .constant = std::move(value)};
}

SampleInput new_shape(const Ints& dims) {
  return constant(Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(dims.size())}, dims));
}

void append(std::vector<OperatorSample>& all, std::vector<OperatorSample> more) {
  for (OperatorSample& sample : more) all.push_back(std::move(sample));
}

std::vector<OperatorSample> convolutions() {
  const SampleInput image = fed({kBatch, 2, 7, 6});
  return {
      {"Conv_plain", "Conv", {image, parameter({3, 2, 3, 2}), parameter({3})}},
      {"Conv_no_bias", "Conv", {image, parameter({3, 2, 3, 3})}},
      {"Conv_weights_fed", "Conv", {image, fed({3, 2, 2, 2}), fed({3})}},
      {"Conv_padded_unevenly", "Conv", {image, parameter({1, 2, 3, 3}), parameter({1})}, {{"pads", Ints{1, 0, 2, 1}}}},
      {"Conv_strided", "Conv", {image, parameter({3, 2, 3, 3})}, {{"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv_dilated", "Conv", {image, parameter({2, 2, 2, 3})}, {{"dilations", Ints{3, 2}}}},
      {"Conv_same", "Conv", {image, parameter({2, 2, 3, 3})}, {{"auto_pad", std::string("SAME_UPPER")}}},
      {"Conv_grouped",
       "Conv",
       {fed({kBatch, 4, 5, 5}), parameter({6, 2, 3, 3}), parameter({6})},
       {{"group", std::int64_t{2}}}},
      {"Conv_depthwise",
       "Conv",
       {fed({kBatch, 3, 5, 5}), parameter({3, 1, 3, 3})},
       {{"group", std::int64_t{3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv_pointwise", "Conv", {image, parameter({5, 2, 1, 1})}},
      {"Conv_whole_image", "Conv", {image, parameter({2, 2, 7, 6})}},
  };
}

std::vector<OperatorSample> poolings() {
  const SampleInput image = fed({kBatch, 3, 6, 7});
  std::vector<OperatorSample> samples;
  for (const std::string op : {"MaxPool", "AveragePool"}) {
    const Attribute kernel = Ints{2, 3};
    append(samples, {{op + "_plain", op, {image}, {{"kernel_shape", kernel}}},
                     {op + "_strided", op, {image}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
                     {op + "_gaps", op, {image}, {{"kernel_shape", Ints{2, 1}}, {"strides", Ints{3, 2}}}},
                     {op + "_padded", op, {image}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 2, 0, 1}}}},
                     {op + "_same",
                      op,
                      {image},
                      {{"kernel_shape", kernel}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}}});
  }
  append(samples, {{"AveragePool_padding_counted",
                    "AveragePool",
                    {image},
                    {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", std::int64_t{1}}}},
                   {"GlobalAveragePool", "GlobalAveragePool", {image}}});
  return samples;
}

std::vector<OperatorSample> products() {
  const std::int64_t one = 1;
  return {
      {"Gemm_plain", "Gemm", {fed({kBatch, 5}), parameter({5, 4}), parameter({4})}},
      {"Gemm_no_bias", "Gemm", {fed({kBatch, 5}), parameter({5, 4})}},
      {"Gemm_weights_transposed",
       "Gemm",
       {fed({kBatch, 19}), parameter({4, 19}), parameter({4})},
       {{"transB", one}, {"alpha", 0.5f}, {"beta", 2.0f}}},
      {"Gemm_both_transposed",
       "Gemm",
       {fed({5, 3}), fed({4, 5}), fed({3, 1})},
       {{"transA", one}, {"transB", one}, {"alpha", -1.5f}}},
      {"Gemm_input_transposed", "Gemm", {fed({5, 3}), parameter({5, 4}), parameter({1, 4})}, {{"transA", one}}},
      {"Gemm_scalar_bias", "Gemm", {fed({kBatch, 5}), parameter({5, 4}), parameter(Shape())}, {{"beta", 0.25f}}},
      {"Gemm_matrix_bias", "Gemm", {fed({3, 5}), fed({5, 4}), fed({3, 4})}},
      {"MatMul_plain", "MatMul", {fed({kBatch, 3}), parameter({3, 17})}},
      {"MatMul_fed", "MatMul", {fed({3, 4}), fed({4, 2})}},
  };
}

std::vector<OperatorSample> elementwise() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  std::vector<OperatorSample> samples{
      {"Add_same_shape", "Add", {x, x}},
      {"Add_channel_bias", "Add", {x, parameter({3, 1, 1})}},
      {"Add_row_bias", "Add", {fed({kBatch, 5}), parameter({5})}},
      {"Add_scalar", "Add", {parameter({1}), x}},
      {"Add_both_broadcast", "Add", {fed({kBatch, 1, 4}), fed({3, 1})}},
      {"Dropout_ratio_zero", "Dropout", {x, constant(Tensor::of<float>(Shape(), {0.0f}))}},
      {"Flatten_default", "Flatten", {x}},
      {"Flatten_last_axis", "Flatten", {fed({2, 3, 4})}, {{"axis", std::int64_t{-1}}}},
      {"Identity", "Identity", {x}},
      {"Reshape_merge", "Reshape", {x, new_shape({0, -1})}},
      {"Reshape_split", "Reshape", {fed({kBatch, 12}), new_shape({0, 3, 4})}},
      {"Softmax_rows", "Softmax", {fed({kBatch, 7})}},
      {"Softmax_last_of_four", "Softmax", {x}, {{"axis", std::int64_t{-1}}}},
  };
  for (const std::string op : {"Relu", "Sigmoid", "Tanh"}) {
    samples.push_back({op, op, {x}});
    samples.push_back({op + "_vector", op, {fed({kBatch})}});
  }
  return samples;
}

}  // namespace

std::vector<OperatorSample> operator_samples() {
  std::vector<OperatorSample> samples = convolutions();
  append(samples, poolings());
  append(samples, products());
  append(samples, elementwise());
  return samples;
}

Tensor uniform_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double scale) {
  Tensor tensor(dtype, shape);
  Random random(seed);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = scale * random.uniform(-1, 1);
    if (dtype == DType::f32) {
      tensor.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(value);
    } else {
      tensor.as<double>()[static_cast<std::size_t>(i)] = value;
    }
  }
  return tensor;
}

Graph sample_graph(const OperatorSample& sample, DType dtype) {
  GraphSketch sketch(dtype);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    const std::string name = input.role == Role::absent ? "" : "in" + std::to_string(i);
    names.push_back(name);
    if (input.role == Role::fed) sketch.input(name, input.shape);
    if (input.role == Role::parameter) sketch.parameter(name, input.shape);
    if (input.role == Role::constant) sketch.constant(name, input.constant);
  }
  return sketch.node(sample.op, names, "y", sample.attributes).create({"y"});
}

GraphSketch& GraphSketch::input(const std::string& name, const Shape& shape) {
  parts_.inputs.emplace_back(name, ValueInfo{dtype_, shape});
  return *this;
}

GraphSketch& GraphSketch::parameter(const std::string& name, const Shape& shape, double scale) {
  return constant(name, uniform_tensor(dtype_, shape, 11 + parts_.initializers.size(), scale));
}

GraphSketch& GraphSketch::constant(const std::string& name, Tensor value) {
  parts_.initializers.emplace(name, std::move(value));
  return *this;
}

GraphSketch& GraphSketch::node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                               std::map<std::string, Attribute> attributes) {
  parts_.nodes.push_back({.name = output,
                          .op = op,
                          .attributes = std::move(attributes),
                          .inputs = std::move(inputs),
                          .outputs = {output}});
  return *this;
}

Graph GraphSketch::create(std::vector<std::string> outputs) {
  parts_.outputs = std::move(outputs);
  Result<Graph> graph = Graph::create(parts_);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(graph).value();
}

Graph tiny_lenet(DType dtype) {
  const std::map<std::string, Attribute> pool{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const std::map<std::string, Attribute> transposed{{"transB", std::int64_t{1}}};
  return GraphSketch(dtype)
      .input("x", {kBatch, 1, 14, 14})
      .parameter("conv1.w", {2, 1, 3, 3})
      .parameter("conv1.b", {2})
      .parameter("conv2.w", {3, 2, 3, 3}, 0.5)
      .parameter("conv2.b", {3})
      .parameter("fc1.w", {5, 12}, 0.5)
      .parameter("fc1.b", {5})
      .parameter("fc2.w", {3, 5}, 0.5)
      .parameter("fc2.b", {3})
      .node("Conv", {"x", "conv1.w", "conv1.b"}, "conv1")
      .node("Tanh", {"conv1"}, "tanh1")
      .node("MaxPool", {"tanh1"}, "pool1", pool)
      .node("Conv", {"pool1", "conv2.w", "conv2.b"}, "conv2")
      .node("Relu", {"conv2"}, "relu2")
      .node("MaxPool", {"relu2"}, "pool2", pool)
      .node("Flatten", {"pool2"}, "flat")
      .node("Gemm", {"flat", "fc1.w", "fc1.b"}, "fc1", transposed)
      .node("Sigmoid", {"fc1"}, "sigmoid")
      .node("Gemm", {"sigmoid", "fc2.w", "fc2.b"}, "y", transposed)
      .create({"y"});
}

Graph branching_graph(DType dtype) {
  const std::map<std::string, Attribute> same{{"pads", Ints{1, 1, 1, 1}}};
  return GraphSketch(dtype)
      .input("x", {kBatch, 2, 6, 6})
      .parameter("shared.w", {2, 2, 3, 3}, 0.5)
      .parameter("b", {2, 1, 1})
      .node("Conv", {"x", "shared.w"}, "first", same)
      .node("Tanh", {"first"}, "inner")
      .node("Conv", {"inner", "shared.w"}, "second", same)
      .node("Add", {"second", "inner"}, "sum")
      .node("Add", {"sum", "sum"}, "doubled")
      .node("Add", {"doubled", "b"}, "biased")
      .node("Sigmoid", {"biased"}, "squashed")
      .node("Add", {"squashed", "x"}, "y")
      .create({"y", "inner"});
}

}  // namespace mangrove
