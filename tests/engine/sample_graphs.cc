#include "tests/engine/sample_graphs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

template <class T>
void fill(Tensor& tensor, Random& random, double low, double high) {
  for (T& element : tensor.as<T>()) {
    const double value = low + (high - low) * (random.uniform(-1, 1) + 1) / 2;
    if constexpr (std::is_same_v<T, bool>) {
      element = value > (low + high) / 2;
    } else if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(std::lround(value));
    } else {
      element = static_cast<T>(value);
    }
  }
}

}  // namespace

Tensor uniform_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double low, double high) {
  Tensor tensor(dtype, shape);
  Random random(seed);
  switch (dtype) {
    case DType::f32:
      fill<float>(tensor, random, low, high);
      break;
    case DType::f64:
      fill<double>(tensor, random, low, high);
      break;
    case DType::i32:
      fill<std::int32_t>(tensor, random, low, high);
      break;
    case DType::i64:
      fill<std::int64_t>(tensor, random, low, high);
      break;
    case DType::u8:
      fill<std::uint8_t>(tensor, random, low, high);
      break;
    case DType::i8:
      fill<std::int8_t>(tensor, random, low, high);
      break;
    case DType::boolean:
      fill<bool>(tensor, random, low, high);
      break;
  }
  return tensor;
}

GraphSketch& GraphSketch::input(const std::string& name, const Shape& shape, std::optional<DType> dtype) {
  parts_.inputs.emplace_back(name, ValueInfo{dtype.value_or(dtype_), shape});
  return *this;
}

GraphSketch& GraphSketch::parameter(const std::string& name, const Shape& shape, double low, double high) {
  return constant(name, uniform_tensor(dtype_, shape, 11 + parts_.initializers.size(), low, high));
}

GraphSketch& GraphSketch::constant(const std::string& name, Tensor value) {
  parts_.initializers.emplace(name, std::move(value));
  return *this;
}

GraphSketch& GraphSketch::node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                               std::map<std::string, Attribute> attributes) {
  return node_of_several(op, std::move(inputs), {output}, std::move(attributes));
}

GraphSketch& GraphSketch::node_of_several(const std::string& op, std::vector<std::string> inputs,
                                          std::vector<std::string> outputs,
                                          std::map<std::string, Attribute> attributes) {
  parts_.nodes.push_back({.name = outputs[0],
                          .op = op,
                          .attributes = std::move(attributes),
                          .inputs = std::move(inputs),
                          .outputs = std::move(outputs)});
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
      .parameter("conv2.w", {3, 2, 3, 3}, -0.5, 0.5)
      .parameter("conv2.b", {3})
      .parameter("fc1.w", {5, 12}, -0.5, 0.5)
      .parameter("fc1.b", {5})
      .parameter("fc2.w", {3, 5}, -0.5, 0.5)
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
      .parameter("shared.w", {2, 2, 3, 3}, -0.5, 0.5)
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
