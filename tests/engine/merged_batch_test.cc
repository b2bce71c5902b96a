// Values that hold the batch several times, as attention merges samples and heads: each sample must get what it gets
// alone, and its gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/open_batch.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

constexpr std::int64_t kMergedSamples = 3, kMergedHeads = 4, kMergedPlaces = 5, kMergedFeatures = 8;
constexpr std::int64_t kMergedSample = kMergedPlaces * kMergedHeads * kMergedFeatures;

Tensor merged_sizes(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

Tensor attention_weights(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(DType::f32, shape);
  Random random(seed);
  for (float& x : tensor.as<float>()) x = 0.3f * static_cast<float>(random.normal());
  return tensor;
}

/// Attention of PyTorch's kind, which keeps its sequences as [T, N, C]: to [T, N h, d], to [N h, T, T], to [T N, C].
/// batch: of the input [N, T, C], and of every shape that names it.
Graph attention(std::int64_t batch) {
  const std::int64_t width = kMergedHeads * kMergedFeatures;
  GraphParts parts;
  parts.name = "attention";
  parts.inputs = {{"x", {DType::f32, {batch, kMergedPlaces, width}}}};
  parts.outputs = {"y"};
  const auto times = [&](std::int64_t k) { return batch == kBatch ? -1 : batch * k; };
  parts.initializers = {{"w", attention_weights({width, width}, 1)},
                        {"out", attention_weights({width, width}, 2)},
                        {"heads", merged_sizes({kMergedPlaces, times(kMergedHeads), kMergedFeatures})},
                        {"rows", merged_sizes({times(kMergedPlaces), width})},
                        {"sequence", merged_sizes({kMergedPlaces, times(1), width})}};
  const auto order = [](Ints perm) { return std::map<std::string, Attribute>{{"perm", std::move(perm)}}; };
  parts.nodes = {{"project", "MatMul", {}, {"x", "w"}, {"p"}},
                 {"in_time", "Transpose", order({1, 0, 2}), {"p"}, {"t"}},
                 {"split", "Reshape", {}, {"t", "heads"}, {"h"}},
                 {"queries", "Transpose", order({1, 0, 2}), {"h"}, {"q"}},
                 {"keys", "Transpose", order({1, 2, 0}), {"h"}, {"k"}},
                 {"score", "MatMul", {}, {"q", "k"}, {"s"}},
                 {"softmax", "Softmax", {{"axis", std::int64_t{-1}}}, {"s"}, {"a"}},
                 {"mix", "MatMul", {}, {"a", "q"}, {"m"}},
                 {"back", "Transpose", order({1, 0, 2}), {"m"}, {"b"}},
                 {"flat", "Reshape", {}, {"b", "rows"}, {"f"}},
                 {"project_out", "MatMul", {}, {"f", "out"}, {"o"}},
                 {"apart", "Reshape", {}, {"o", "sequence"}, {"z"}},
                 {"in_samples", "Transpose", order({1, 0, 2}), {"z"}, {"y"}}};
  const auto graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

struct AttentionOutcome {
  Floats output;
  std::vector<Floats> gradients;  // of the parameters
};

AttentionOutcome run_attention(const Graph& graph, const std::string& backend, std::int64_t batch, const Floats& x,
                               const Floats& dy) {
  const auto program = Program::compile(graph, {.mode = Mode::training, .batch = batch, .backend = backend});
  MG_CHECK_MSG(program.ok(), program.error().message);
  const auto execution = Execution::create(*program).value();
  std::copy(x.begin(), x.end(), execution->input<float>("x").begin());
  execution->forward();
  const auto y = execution->output<float>("y");
  AttentionOutcome outcome{{y.begin(), y.end()}, {}};
  std::copy(dy.begin(), dy.end(), execution->output_gradient<float>("y").begin());
  execution->backward();
  for (const auto& view : execution->parameters())
    outcome.gradients.emplace_back(view.gradient.begin(), view.gradient.end());
  return outcome;
}

Floats attention_values(std::int64_t count, std::uint64_t seed) {
  Floats values;
  Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.normal()));
  return values;
}

Floats attention_sample(const Floats& all, std::int64_t n) {
  return {all.begin() + n * kMergedSample, all.begin() + (n + 1) * kMergedSample};
}

void expect_all_near(const Floats& found, const Floats& expected, float within) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], within) << i;
}

void expect_each_sample_alone(const Graph& open, const std::string& backend) {
  const Floats x = attention_values(kMergedSamples * kMergedSample, 3),
               dy = attention_values(kMergedSamples * kMergedSample, 4);
  const AttentionOutcome together = run_attention(open, backend, kMergedSamples, x, dy);
  std::vector<Floats> sums;
  for (std::int64_t n = 0; n < kMergedSamples; ++n) {
    const AttentionOutcome alone =
        run_attention(attention(1), backend, 1, attention_sample(x, n), attention_sample(dy, n));
    expect_all_near(attention_sample(together.output, n), alone.output, 1e-4f);
    if (sums.empty()) sums.resize(alone.gradients.size());
    for (std::size_t p = 0; p < sums.size(); ++p) {
      sums[p].resize(alone.gradients[p].size(), 0.0f);
      for (std::size_t i = 0; i < sums[p].size(); ++i) sums[p][i] += alone.gradients[p][i];
    }
  }
  ASSERT_EQ(together.gradients.size(), 2u);
  for (std::size_t p = 0; p < sums.size(); ++p) expect_all_near(together.gradients[p], sums[p], 2e-3f);
}

class MergedBatch : public ::testing::TestWithParam<std::string> {};

TEST_P(MergedBatch, GivesEachSampleWhatItGetsAlone) {
  const Graph graph = attention(kBatch);
  EXPECT_EQ(graph.value("s").shape, (Shape{-kMergedHeads, kMergedPlaces, kMergedPlaces}));
  EXPECT_EQ(graph.value("f").shape, (Shape{-kMergedPlaces, kMergedHeads * kMergedFeatures}));
  expect_each_sample_alone(graph, GetParam());
}

TEST_P(MergedBatch, IsWhatAnOpenedBatchOfOneHas) {
  const auto opened = open_batch(attention(1));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->value("s").shape, (Shape{-kMergedHeads, kMergedPlaces, kMergedPlaces}));
  expect_each_sample_alone(*opened, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Backends, MergedBatch, ::testing::ValuesIn([] {
                           const auto names = backend_names();
                           return std::vector<std::string>(names.begin(), names.end());
                         }()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace mangrove
