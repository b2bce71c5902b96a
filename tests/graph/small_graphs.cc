#include "tests/graph/small_graphs.h"

#include <numeric>

namespace mangrove::testing {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor counting(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 0.1f);
  return tensor;
}

}  // namespace

Node make_node(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::map<std::string, Attribute> attributes) {
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

GraphParts small_network() {
  GraphParts parts;
  parts.name = "small";
  parts.inputs = {{"x", {DType::f32, {kBatch, 2, 8, 8}}}};
  parts.outputs = {"probabilities", "r1"};
  parts.initializers = {{"conv.weight", counting({4, 2, 3, 3})},
                        {"conv.bias", counting({4})},
                        {"fc.weight", counting({5, 64})},
                        {"fc.bias", counting({5})},
                        {"shape", Tensor::of<std::int64_t>({2}, {0, -1})}};
  parts.nodes = {
      make_node("conv", "Conv", {"x", "conv.weight", "conv.bias"}, {"c1"},
                {{"auto_pad", std::string("SAME_UPPER")}, {"kernel_shape", Ints{3, 3}}, {"group", std::int64_t{1}}}),
      make_node("relu", "Relu", {"c1"}, {"r1"}),
      make_node("pool", "MaxPool", {"r1"}, {"p1"}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
      make_node("reshape", "Reshape", {"p1", "shape"}, {"f1"}),
      make_node("fc", "Gemm", {"f1", "fc.weight", "fc.bias"}, {"logits"},
                {{"transB", std::int64_t{1}}, {"alpha", 0.5f}}),
      make_node("softmax", "Softmax", {"logits"}, {"probabilities"}, {{"axis", std::int64_t{-1}}})};
  parts.metadata = {{"classes", "a,b,c,d,e"}, {"note", ""}};
  return parts;
}

GraphParts two_branches() {
  GraphParts parts;
  parts.name = "branches";
  parts.inputs = {{"x", {DType::f32, {kBatch, 4}}}};
  parts.outputs = {"y"};
  parts.initializers = {{"shared", counting({4, 4})}, {"bias", counting({4})}};
  parts.nodes = {make_node("left", "Gemm", {"x", "shared", "bias"}, {"l"}), make_node("relu", "Relu", {"l"}, {"a"}),
                 make_node("right", "Gemm", {"x", "shared"}, {"r"}), make_node("add", "Add", {"a", "r"}, {"y"})};
  return parts;
}

Result<Shape> infer_one(Node node, const std::vector<Shape>& inputs, const std::map<std::size_t, Tensor>& constants) {
  GraphParts parts;
  parts.name = "one";
  node.name = "n";
  node.outputs = {"y"};
  node.inputs.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    node.inputs.push_back(name);
    if (const auto constant = constants.find(i); constant != constants.end()) {
      parts.initializers.emplace(name, constant->second);
    } else {
      parts.inputs.emplace_back(name, ValueInfo{DType::f32, inputs[i]});
    }
  }
  parts.nodes = {std::move(node)};
  parts.outputs = {"y"};
  MG_TRY(const Graph graph, Graph::create(std::move(parts)));
  return graph.value("y").shape;
}

}  // namespace mangrove::testing
