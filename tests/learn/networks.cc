#include "tests/learn/networks.h"

#include "mangrove/base/random.h"

namespace mangrove::learn {
namespace {

Tensor random_tensor(Shape shape, double limit, Random& random) {
  Tensor tensor(DType::f32, std::move(shape));
  for (float& x : tensor.as<float>()) x = static_cast<float>(random.uniform(-limit, limit));
  return tensor;
}

}  // namespace

Patterns::Patterns(std::uint32_t size, std::int32_t classes, std::uint32_t broken) : size_(size), broken_(broken) {
  for (std::int32_t c = 0; c < classes; ++c) names_.push_back("pattern " + std::to_string(c));
}

std::int32_t Patterns::label(std::uint32_t index) const {
  return static_cast<std::int32_t>(index) % classes();
}

Status Patterns::read(std::uint32_t index, std::span<float> out) const {
  if (index >= broken_) return make_error(Code::data_loss, "sample " + std::to_string(index) + " is broken");
  Random pattern = Random(1).fork(static_cast<std::uint64_t>(label(index)));
  Random noise = Random(2).fork(index);
  for (float& pixel : out) pixel = static_cast<float>(0.7 * pattern.uniform() + 0.3 * noise.uniform());
  return {};
}

GraphParts small_parts(std::int64_t classes) {
  Random random(42);
  GraphParts parts;
  parts.name = "small";
  parts.inputs.emplace_back("input", ValueInfo{DType::f32, Shape{kBatch, 1, 6, 6}});
  parts.outputs = {"logits"};
  parts.nodes = {
      {.name = "conv", .op = "Conv", .attributes = {}, .inputs = {"input", "conv.w", "conv.b"}, .outputs = {"a"}},
      {.name = "tanh", .op = "Tanh", .attributes = {}, .inputs = {"a"}, .outputs = {"b"}},
      {.name = "flatten", .op = "Flatten", .attributes = {}, .inputs = {"b"}, .outputs = {"c"}},
      {.name = "fc", .op = "Gemm", .attributes = {}, .inputs = {"c", "fc.w", "fc.b"}, .outputs = {"logits"}},
  };
  parts.nodes[3].attributes["transB"] = std::int64_t{1};
  parts.initializers.emplace("conv.w", random_tensor({5, 1, 3, 3}, 0.5, random));
  parts.initializers.emplace("conv.b", random_tensor({5}, 0.1, random));
  parts.initializers.emplace("fc.w", random_tensor({classes, 80}, 0.15, random));
  parts.initializers.emplace("fc.b", random_tensor({classes}, 0.1, random));
  return parts;
}

Graph small_network() {
  return Graph::create(small_parts()).value();
}

Graph branchy_network() {
  GraphParts parts = small_parts();
  Random random(43);
  parts.name = "branchy";
  parts.outputs = {"exit1", "logits"};
  const std::vector<std::int64_t> two{2, 2};
  parts.nodes.push_back({.name = "branch.pool",
                         .op = "AveragePool",
                         .attributes = {{"kernel_shape", two}, {"strides", two}},
                         .inputs = {"b"},
                         .outputs = {"p"}});
  parts.nodes.push_back(
      {.name = "branch.flatten", .op = "Flatten", .attributes = {}, .inputs = {"p"}, .outputs = {"q"}});
  parts.nodes.push_back({.name = "branch.fc",
                         .op = "Gemm",
                         .attributes = {{"transB", std::int64_t{1}}},
                         .inputs = {"q", "branch.w", "branch.b"},
                         .outputs = {"exit1"}});
  parts.initializers.emplace("branch.w", random_tensor({4, 20}, 0.5, random));
  parts.initializers.emplace("branch.b", random_tensor({4}, 0.1, random));
  return Graph::create(std::move(parts)).value();
}

Graph normalized_network(float dropout) {
  GraphParts parts = small_parts();
  parts.name = "normalized";
  parts.nodes[0].inputs.pop_back();
  parts.initializers.erase("conv.b");
  const auto filled = [](float value) { return Tensor::of<float>({5}, std::vector<float>(5, value)); };
  parts.nodes[1] = {.name = "bn",
                    .op = "BatchNormalization",
                    .attributes = {},
                    .inputs = {"a", "bn.scale", "bn.shift", "bn.mean", "bn.var"},
                    .outputs = {"n"}};
  parts.nodes.push_back({.name = "relu", .op = "Relu", .attributes = {}, .inputs = {"n"}, .outputs = {"b"}});
  parts.initializers.emplace("bn.scale", filled(1));
  parts.initializers.emplace("bn.shift", filled(0));
  parts.initializers.emplace("bn.mean", filled(0));
  parts.initializers.emplace("bn.var", filled(1));
  if (dropout > 0) {
    parts.initializers.emplace("ratio", Tensor::of<float>({}, {dropout}));
    parts.nodes.push_back(
        {.name = "drop", .op = "Dropout", .attributes = {}, .inputs = {"c", "ratio"}, .outputs = {"d"}});
    parts.nodes[3].inputs[0] = "d";
  }
  return Graph::create(std::move(parts)).value();
}

data::Batch batch_of(const data::Dataset& dataset, std::uint32_t first, std::uint32_t count, std::int64_t rows) {
  const Shape sample = dataset.sample_shape();
  data::Batch batch;
  batch.images = Tensor(DType::f32, Shape{rows, sample[0], sample[1], sample[2]});
  batch.labels.assign(static_cast<std::size_t>(rows), data::kPadding);
  batch.count = count;
  const auto elements = static_cast<std::size_t>(sample.elements());
  for (std::uint32_t row = 0; row < count; ++row) {
    MG_CHECK(dataset.read(first + row, batch.images.as<float>().subspan(row * elements, elements)).ok());
    batch.labels[row] = dataset.label(first + row);
  }
  return batch;
}

}  // namespace mangrove::learn
