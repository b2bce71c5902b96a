#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "tests/compress/networks.h"

#include "mangrove/data/subset.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/learn/trainer.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {
namespace {

std::shared_ptr<const data::Dataset> glyphs(data::Split split, std::int64_t count) {
  return data::first_samples(data::open_dataset("glyphs", split, {}).value(), count);
}

double accuracy(const Graph& graph, const std::shared_ptr<const data::Dataset>& dataset) {
  const auto replica = learn::Replica::create(graph, {.batch = 100, .mode = Mode::inference}).value();
  return learn::evaluate(*replica, dataset).value().confusion.accuracy();
}

TEST(TrainedNetwork, KeepsItsAccuracyByEveryMethod) {
  const auto train = glyphs(data::Split::train, 0);
  learn::Trainer::Options options;
  options.replica = {.batch = 64};
  options.learning_rate = 0.1f;
  options.schedule = {.name = "cosine", .warmup_steps = 20};
  options.total_steps = 60;
  auto trainer = learn::Trainer::create(zoo::build_model("lenet", {}).value(), train, options).value();
  for (int step = 0; step < 60; ++step) ASSERT_TRUE(trainer->step().ok());
  const Graph graph = optimize(trainer->replica().trained_graph(), {.mode = Mode::inference})->graph;
  const auto unseen = glyphs(data::Split::test, 1000);
  const double in_float = accuracy(graph, unseen);
  ASSERT_GE(in_float, 0.8);

  const QuantizationPlan plan = plan_quantization(graph, {}).value();
  EXPECT_EQ(plan.layers, (std::vector<std::string>{"conv1", "conv2", "fc1", "fc2"}));
  auto calibrator = Calibrator::create(graph, plan.observed(), {.batch = 1}).value();
  for (std::uint32_t sample = 0; sample < 64; ++sample) {
    ASSERT_TRUE(train->read(sample, calibrator.execution().input<float>("input")).ok());
    ASSERT_TRUE(calibrator.observe().ok());
  }
  for (const RangeMethod& method : range_methods()) {
    const Graph bytes = quantize_static(graph, plan, calibrator.histograms(), method).value();
    EXPECT_GE(accuracy(bytes, unseen), in_float - 0.01) << method.name;
  }
}

}  // namespace
}  // namespace mangrove::compress
