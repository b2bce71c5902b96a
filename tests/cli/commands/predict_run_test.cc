#include "mangrove/cli/commands/predict_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

/// Five images of nothing; knows when it was read.
class Watched final : public SampleSource {
 public:
  struct Fill {
    std::int64_t first;
    Instant at;
  };
  std::int64_t count() const override { return 5; }
  std::string name(std::int64_t sample) const override { return std::to_string(sample); }
  bool has_images() const override { return true; }
  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    fills.push_back({samples.front(), clock.now()});
    std::ranges::fill(execution.input<float>("input"), 0.0f);
    return std::vector<Status>(samples.size());
  }

  SteadyClock clock;
  mutable std::vector<Fill> fills;
};

TEST(RunModel, WithExitsTimesNoCompilation) {
  const Graph graph = zoo::build_model("branchy-lenet", {}).value();
  ASSERT_EQ(graph.inputs()[0].first, "input");
  const Watched source{};
  const Instant start = source.clock.now();
  const auto predictions = run_model(
      graph, source, {.batch = 2, .backend = {}, .exit_thresholds = std::vector<float>{0}}, [](std::int64_t) {}, {});
  const Seconds all = source.clock.now() - start;
  ASSERT_TRUE(predictions.ok()) << predictions.error().message;
  EXPECT_EQ(predictions->left_at_exits, (std::vector<std::int64_t>{0, 5}));
  std::vector<std::int64_t> firsts;
  for (const Watched::Fill& fill : source.fills) firsts.push_back(fill.first);
  ASSERT_EQ(firsts, (std::vector<std::int64_t>{0, 0, 2, 4, 4})) << "again what programs were compiled for";
  const Seconds compiling = (source.fills[1].at - source.fills[0].at) + (source.fills[4].at - source.fills[3].at);
  EXPECT_GT(predictions->seconds, 0);
  EXPECT_LE(predictions->seconds, all - compiling);
}

/// Images of noise; from the middle on with less contrast, so that a network is less certain of them.
class Drifting final : public SampleSource {
 public:
  static constexpr std::int64_t kImages = 4000;
  std::int64_t count() const override { return kImages; }
  std::string name(std::int64_t sample) const override { return std::to_string(sample); }
  bool has_images() const override { return true; }
  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    const std::span<float> input = execution.input<float>("input");
    for (std::size_t i = 0; i < samples.size(); ++i) write(samples[i], input.subspan(784 * i, 784));
    return std::vector<Status>(samples.size());
  }
  static void write(std::int64_t sample, std::span<float> image) {
    Random random(static_cast<std::uint64_t>(sample) + 1);
    const double contrast = random.uniform() * (sample < kImages / 2 ? 8 : 2);
    for (float& pixel : image) pixel = static_cast<float>(contrast * random.normal());
  }
};

/// Half of the images of the first half are less.
float median_entropy(const Graph& graph) {
  const auto network = exits::EarlyExit::create(graph, {1}, {.micro_batch = 1, .backend = {}}).value();
  std::vector<float> image(784), entropies;
  for (std::int64_t i = 0; i < 500; ++i) {
    Drifting::write(i, image);
    EXPECT_TRUE(network->classify(1, image).ok());
    entropies.push_back(network->entropies()[0]);
  }
  std::ranges::sort(entropies);
  return entropies[250];
}

TEST(RunModel, KeepsTheSharesOfExitsWhileInputsDrift) {
  const Graph graph = zoo::build_model("branchy-lenet", {}).value();
  const std::vector<float> tuned = {median_entropy(graph)};
  const Drifting source{};
  const auto left_early = [&](const std::vector<float>& shares) {
    const PredictOptions options{.batch = 16, .backend = {}, .exit_thresholds = tuned, .exit_shares = shares};
    const auto predictions = run_model(graph, source, options, [](std::int64_t) {}, {});
    EXPECT_TRUE(predictions.ok());
    EXPECT_EQ(predictions->exit_thresholds == tuned, shares.empty());
    const auto middle = predictions->exits.begin() + Drifting::kImages / 2;
    const auto share = [](auto first, auto last) {
      return static_cast<double>(std::count(first, last, 0)) / static_cast<double>(last - first);
    };
    return std::pair(share(predictions->exits.begin(), middle), share(middle, predictions->exits.end()));
  };
  const auto fixed = left_early({}), kept = left_early({0.5f});
  EXPECT_NEAR(fixed.first, 0.5, 0.06);
  EXPECT_LT(fixed.second, 0.1);
  EXPECT_NEAR(kept.first, 0.5, 0.06);
  EXPECT_NEAR(kept.second, 0.5, 0.08);
}

}  // namespace
}  // namespace mangrove::cli
