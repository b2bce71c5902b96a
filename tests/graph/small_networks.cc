#include "tests/graph/small_networks.h"

#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"

namespace mangrove {
namespace {

Graph create(GraphParts parts) {
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

using Integers = std::vector<std::int64_t>;

}  // namespace

Tensor random_tensor(Shape shape, double scale, std::uint64_t seed) {
  Tensor tensor(DType::f32, std::move(shape));
  Random random(seed);
  for (float& value : tensor.as<float>()) value = static_cast<float>(scale * random.normal());
  return tensor;
}

Graph small_graph() {
  GraphParts parts;
  parts.name = "small";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {
      {"conv", "Conv", {{"kernel_shape", Integers{5, 5}}}, {"input", "wc", "bc"}, {"c"}},
      {"relu", "Relu", {}, {"c"}, {"r"}},
      {"pool", "MaxPool", {{"kernel_shape", Integers{4, 4}}, {"strides", Integers{4, 4}}}, {"r"}, {"p"}},
      {"flatten", "Flatten", {}, {"p"}, {"f"}},
      {"fc1", "Gemm", {{"transB", std::int64_t{1}}}, {"f", "w1", "b1"}, {"h"}},
      {"tanh", "Tanh", {}, {"h"}, {"t"}},
      {"fc2", "Gemm", {{"transB", std::int64_t{1}}}, {"t", "w2", "b2"}, {"logits"}},
  };
  parts.initializers = {{"wc", random_tensor({4, 1, 5, 5}, 0.3, 1)}, {"bc", random_tensor({4}, 0.1, 2)},
                        {"w1", random_tensor({16, 144}, 0.2, 3)},    {"b1", random_tensor({16}, 0.1, 4)},
                        {"w2", random_tensor({10, 16}, 0.5, 5)},     {"b2", random_tensor({10}, 0.1, 6)}};
  return create(std::move(parts));
}

Graph skipping_graph() {
  GraphParts parts;
  parts.name = "skipping";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {
      {"flatten", "Flatten", {}, {"input"}, {"f"}},
      {"fc1", "Gemm", {{"transB", std::int64_t{1}}}, {"f", "w1"}, {"a"}},
      {"tanh", "Tanh", {}, {"a"}, {"b"}},
      {"fc2", "Gemm", {{"transB", std::int64_t{1}}}, {"b", "w2"}, {"c"}},
      {"add", "Add", {}, {"c", "a"}, {"d"}},  // a skips two operators
      {"fc3", "Gemm", {{"transB", std::int64_t{1}}}, {"d", "w3"}, {"logits"}},
  };
  parts.initializers = {{"w1", random_tensor({12, 784}, 0.1, 1)},
                        {"w2", random_tensor({12, 12}, 0.4, 2)},
                        {"w3", random_tensor({10, 12}, 0.4, 3)}};
  return create(std::move(parts));
}

}  // namespace mangrove
