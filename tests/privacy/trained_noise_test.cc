#include "mangrove/privacy/trained_noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/graph/small_networks.h"

#include "mangrove/graph/split.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::privacy {
namespace {

using mangrove::testing::TemporaryFolder;

constexpr std::int64_t kBatchRows = 6;

LeakageData glyphs() {
  return {
      *data::open_dataset("glyphs", data::Split::train, {}), *data::open_dataset("glyphs", data::Split::test, {}), {}};
}

data::Batch random_batch(const Graph& graph) {
  data::Batch batch{.images = random_tensor(graph.inputs()[0].second.shape.with_batch(kBatchRows), 1, 3), .labels = {}};
  for (std::int32_t row = 0; row < kBatchRows; ++row) batch.labels.push_back(row);
  batch.count = kBatchRows;
  return batch;
}

TEST(WithNoise, ItsGradientIsThatOfTheLoss) {
  const Graph noisy = with_noise(split_behind(small_graph(), "pool")->back).value();
  EXPECT_EQ(noisy.value(kNoiseParameter).shape, (Shape{1, 4, 6, 6}));
  auto replica = learn::Replica::create(noisy, {.batch = kBatchRows}).value();
  const data::Batch batch = random_batch(noisy);
  Tensor noise = random_tensor(noisy.value(kNoiseParameter).shape, 1, 4);
  const auto loss = [&] {
    EXPECT_TRUE(replica->execution().set_parameter(kNoiseParameter, noise).ok());
    return replica->compute_gradients(batch, 1.0f / kBatchRows).loss / kBatchRows;
  };
  loss();
  const Tensor gradient = replica->execution().gradient(kNoiseParameter).clone();
  double largest = 0;
  for (std::size_t i = 0; i < noise.as<float>().size(); i += 7) {
    constexpr float kStep = 0.02f;
    float& value = noise.as<float>()[i];
    const float kept = value;
    value = kept + kStep;
    const double above = loss();
    value = kept - kStep;
    const double below = loss();
    value = kept;
    EXPECT_NEAR(gradient.as<float>()[i], (above - below) / (2 * kStep), 2e-4) << i;
    largest = std::max(largest, std::abs(static_cast<double>(gradient.as<float>()[i])));
  }
  EXPECT_GT(largest, 0.01);
}

/// A batch normalization that no convolution can take in, of values [N, 2, 3, 3].
Graph normalizing_graph() {
  GraphParts parts;
  parts.name = "normalizing";
  parts.inputs = {{"input", {DType::f32, {kBatch, 2, 3, 3}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"bn", "BatchNormalization", {}, {"input", "scale", "bias", "mean", "variance"}, {"y"}},
                 {"relu", "Relu", {}, {"y"}, {"r"}},
                 {"flatten", "Flatten", {}, {"r"}, {"f"}},
                 {"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"f", "w"}, {"logits"}}};
  parts.initializers = {{"scale", Tensor::of<float>({2}, {0.5f, 2})},
                        {"bias", Tensor::of<float>({2}, {0.1f, -0.2f})},
                        {"mean", Tensor::of<float>({2}, {1, -3})},
                        {"variance", Tensor::of<float>({2}, {4, 0.3f})},
                        {"w", random_tensor({10, 18}, 1, 5)}};
  return Graph::create(std::move(parts)).value();
}

TEST(WithNoise, TrainingModeComputesWhatInferenceDoes) {
  const Graph graph = normalizing_graph();
  auto original = learn::Replica::create(graph, {.batch = kBatchRows, .mode = Mode::inference}).value();
  auto frozen = learn::Replica::create(with_noise(graph).value(), {.batch = kBatchRows}).value();
  const data::Batch batch = random_batch(graph);
  original->predict(batch);
  frozen->compute_gradients(batch, 1);
  const auto expected = original->execution().output<float>("logits"),
             made = frozen->execution().output<float>("logits");
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-4) << i;
}

/// small_graph() that knows most glyphs.
Graph learned_graph() {
  constexpr std::uint32_t kRows = 32;
  constexpr std::uint32_t kSteps = 400;
  auto replica = learn::Replica::create(small_graph(), {.batch = kRows}).value();
  std::vector<learn::Optimizer::Parameter> parameters;
  for (const auto& view : replica->execution().parameters()) parameters.push_back({view.value, view.gradient});
  auto optimizer = learn::Optimizer::create({.name = "adam"}, parameters).value();
  data::Loader loader(glyphs().training, {.batch = kRows});
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    std::vector<std::uint32_t> rows(kRows);
    for (std::uint32_t row = 0; row < kRows; ++row) rows[row] = step * kRows + row;
    loader.request(rows);
    replica->compute_gradients(loader.next().value(), 1.0f / kRows);
    optimizer.step(5e-3f, step + 1);
  }
  return replica->trained_graph();
}

TEST(TrainedNoise, GrowsAndCostsLessThanNoiseThatIsNotTrained) {
  constexpr double kWanted = 0.5;
  const Graph graph = learned_graph();
  const LeakageOptions decoder{.images = 400, .steps = 1};
  const auto leakage = [&](const std::string& privacy, std::span<const float> trained) {
    return measure_leakage(graph, *parse_privacy(privacy), glyphs(), decoder, SteadyClock(), {}, trained).value();
  };
  const auto with_steps = [&](std::int64_t steps, double snr) {
    const NoiseOptions options{.tensors = 3, .steps = steps, .snr = snr};
    const Tensor noise = train_noise(graph, "pool", glyphs(), options, {}).value();
    EXPECT_EQ(noise.shape(), (Shape{3, 4, 6, 6}));
    return leakage("split@pool,trained=x", noise.as<float>());
  };
  const Leakage plain = leakage("split@pool", {});
  const Leakage first = with_steps(0, kWanted), trained = with_steps(250, kWanted),
                as_large = with_steps(0, kWanted / 4);
  ASSERT_GT(plain.accuracy, 0.8);
  EXPECT_EQ(plain.snr, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(first.snr, 4 * kWanted, 1.2 * kWanted) << "few values are drawn";
  EXPECT_LT(trained.snr, 1.2 * kWanted);
  EXPECT_GT(trained.accuracy, plain.accuracy - 0.1);
  EXPECT_LT(as_large.snr, 1.5 * kWanted);
  EXPECT_GT(trained.accuracy, as_large.accuracy + 0.1) << "of the same size";
}

TEST(TrainedNoise, IsTheSameEachTimeAndStops) {
  const NoiseOptions options{.tensors = 2, .steps = 3, .batch = 8};
  std::vector<std::int64_t> told;
  const Tensor once = train_noise(small_graph(), "fc1", glyphs(), options, {},
                                  [&](std::int64_t steps) { told.push_back(steps); })
                          .value(),
               again = train_noise(small_graph(), "fc1", glyphs(), options, {}).value();
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6})) << "of both tensors";
  EXPECT_EQ(once.shape(), (Shape{2, 16}));
  const auto values = once.as<float>();
  EXPECT_TRUE(std::ranges::equal(values, again.as<float>()));
  EXPECT_FALSE(std::ranges::equal(values.first(16), values.last(16))) << "each tensor has its own first values";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(train_noise(small_graph(), "fc1", glyphs(), options, stop.get_token()).code(), Code::cancelled);
  EXPECT_EQ(train_noise(small_graph(), "fc3", glyphs(), options, {}).code(), Code::not_found);
}

TEST(TrainedNoise, IsReadFromItsFile) {
  const TemporaryFolder folder;
  const Tensor noise = random_tensor({5, 4, 6, 6}, 1, 1);
  ASSERT_TRUE(write_file_atomically(folder / "n", encode_safetensors({{{"pool", noise}}, {}})).ok());
  const std::string file = read_file(folder / "n").value();
  const Graph bottom = split_behind(small_graph(), "pool")->front;
  const auto read = noise_of(file, *parse_privacy("split@pool,trained=n"), bottom);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->shape(), noise.shape());
  EXPECT_TRUE(std::ranges::equal(read->as<float>(), noise.as<float>()));
  EXPECT_EQ(noise_of("", *parse_privacy("split@pool,noise=1"), bottom)->elements(), 0) << "none is wanted";
}

TEST(TrainedNoise, WhatDoesNotFitIsRefused) {
  const Graph bottom = split_behind(small_graph(), "pool")->front;
  const auto refused = [&](const std::string& file) {
    const auto noise = noise_of(file, *parse_privacy("split@pool,trained=n.st"), bottom);
    EXPECT_FALSE(noise.ok());
    return noise.ok() ? "" : noise.error().message;
  };
  const auto with = [](const std::string& layer, const Tensor& noise) {
    return encode_safetensors({{{layer, noise}}, {}});
  };
  EXPECT_EQ(refused(with("conv", random_tensor({2, 4, 24, 24}, 1, 1))),
            "privacy: trained=n.st: no noise for layer 'pool', only for 'conv'");
  EXPECT_EQ(refused(encode_safetensors({})), "privacy: trained=n.st: no noise for layer 'pool', only for none");
  const std::string wrong = "privacy: trained=n.st: noise for layer 'pool' ";
  EXPECT_EQ(refused(with("pool", random_tensor({2, 4, 6, 5}, 1, 1))),
            wrong + "is f32 [2, 4, 6, 5], expected f32 [N, 4, 6, 6]");
  EXPECT_EQ(refused(with("pool", random_tensor({4, 6, 6}, 1, 1))),
            wrong + "is f32 [4, 6, 6], expected f32 [N, 4, 6, 6]");
  EXPECT_EQ(refused(with("pool", Tensor(DType::i64, {1, 4, 6, 6}))),
            wrong + "is i64 [1, 4, 6, 6], expected f32 [N, 4, 6, 6]");
  EXPECT_EQ(refused(with("pool", Tensor(DType::f32, {0, 4, 6, 6}))),
            wrong + "is f32 [0, 4, 6, 6], expected f32 [N, 4, 6, 6]");
  Tensor infinite = random_tensor({1, 4, 6, 6}, 1, 1);
  infinite.as<float>()[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refused(with("pool", infinite)), wrong + "has values that are no numbers");
  EXPECT_TRUE(refused("no such file format").starts_with("privacy: trained=n.st: "));
}

}  // namespace
}  // namespace mangrove::privacy
