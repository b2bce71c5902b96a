#include "tests/serve/served_networks.h"

#include <cstring>
#include <utility>

#include "tests/serve/answers.h"

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"

namespace mangrove::serve {
namespace {

Graph create(GraphParts parts) {
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

/// Whole numbers from -9 to 9.
Tensor whole(Shape shape, std::uint64_t seed) {
  Tensor tensor(DType::f32, std::move(shape));
  Random random(seed);
  for (float& element : tensor.as<float>()) element = static_cast<float>(random.below(19)) - 9;
  return tensor;
}

}  // namespace

Graph two_inputs() {
  GraphParts parts;
  parts.name = "two_inputs";
  parts.inputs = {{"a", {DType::f32, {kBatch, 3}}}, {"b", {DType::f32, {kBatch, 3}}}};
  parts.outputs = {"sum", "product"};
  parts.nodes = {{"add", "Add", {}, {"a", "b"}, {"sum"}}, {"mul", "Mul", {}, {"a", "b"}, {"product"}}};
  return create(std::move(parts));
}

Graph identity(DType dtype, const Shape& shape) {
  GraphParts parts;
  parts.name = "identity";
  parts.inputs = {{"x", {dtype, shape}}};
  parts.outputs = {"y"};
  parts.nodes = {{"identity", "Identity", {}, {"x"}, {"y"}}};
  return create(std::move(parts));
}

Graph mean_of_batch() {
  GraphParts parts;
  parts.name = "mean_of_batch";
  parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}};
  parts.outputs = {"y"};
  parts.nodes = {
      {"mean", "ReduceMean", {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{0}}}, {"x"}, {"y"}}};
  return create(std::move(parts));
}

Graph scaled() {
  GraphParts parts;
  parts.name = "scaled";
  parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}, {"scale", {DType::f32, {3}}}};
  parts.outputs = {"y"};
  parts.nodes = {{"mul", "Mul", {}, {"x", "scale"}, {"y"}}};
  return create(std::move(parts));
}

Graph dense(std::int64_t inputs, std::int64_t outputs) {
  GraphParts parts;
  parts.name = "dense";
  parts.inputs = {{"x", {DType::f32, {kBatch, inputs}}}};
  parts.outputs = {"y"};
  parts.nodes = {{"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"x", "w"}, {"y"}}};
  parts.initializers = {{"w", Tensor(DType::f32, {outputs, inputs})}};
  return create(std::move(parts));
}

Graph whole_numbers() {
  GraphParts parts;
  parts.name = "whole_numbers";
  parts.inputs = {{"x", {DType::f32, {kBatch, 8}}}};
  parts.outputs = {"y"};
  parts.nodes = {{"fc1", "Gemm", {{"transB", std::int64_t{1}}}, {"x", "w1"}, {"h"}},
                 {"relu", "Relu", {}, {"h"}, {"r"}},
                 {"fc2", "Gemm", {{"transB", std::int64_t{1}}}, {"r", "w2"}, {"y"}}};
  parts.initializers = {{"w1", whole({16, 8}, 1)}, {"w2", whole({5, 16}, 2)}};
  return create(std::move(parts));
}

std::shared_ptr<EngineModel> load(const Graph& graph, ModelOptions options) {
  options.backend = "portable";
  auto model = EngineModel::load(graph, "m", "1", options);
  MG_CHECK_MSG(model.ok(), model.error().message);
  return *model;
}

InferenceRequest request_of(std::vector<NamedTensor> inputs) {
  InferenceRequest request;
  request.inputs = std::move(inputs);
  return request;
}

InferenceRequest whole_number_request(std::int64_t samples, std::uint64_t seed) {
  return request_of({{"x", whole({samples, 8}, seed)}});
}

Result<InferenceResponse> ask(Model& model, InferenceRequest request) {
  Answers answers;
  model.infer(std::move(request), answers.sink("it"));
  return answers.wait("it");
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace mangrove::serve
