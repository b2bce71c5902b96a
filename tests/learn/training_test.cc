#include <gtest/gtest.h>

#include "tests/learn/networks.h"

#include "mangrove/learn/trainer.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::learn {
namespace {

struct TrainingCase {
  std::string model;
  std::string backend;
  float learning_rate;
  std::int64_t steps;
  double accuracy;  // at least, on samples that were not trained on
};

class TrainingOnGlyphs : public ::testing::TestWithParam<TrainingCase> {};

std::vector<TrainingCase> cases() {
  std::vector<TrainingCase> all;
  for (const std::string& backend : backend_names()) {
    all.push_back({"mlp", backend, 0.1f, 100, 0.8});
    // the reference kernels are too slow for a network of this size
    if (backend != "portable") all.push_back({"lenet", backend, 0.1f, 100, 0.93});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Zoo, TrainingOnGlyphs, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.model + "_" + test.param.backend; });

TEST_P(TrainingOnGlyphs, ReachesAnAccuracyInABoundedNumberOfSteps) {
  const TrainingCase& test = GetParam();
  const auto train = data::open_dataset("glyphs", data::Split::train, {}).value();
  const auto unseen = std::make_shared<FirstOf>(data::open_dataset("glyphs", data::Split::test, {}).value(), 1000);
  Trainer::Options options;
  options.replica = {.batch = 64, .backend = test.backend};
  options.optimizer.weight_decay = 5e-4f;
  options.learning_rate = test.learning_rate;
  options.schedule = {.name = "cosine", .warmup_steps = 20};
  options.total_steps = test.steps;
  auto trainer = Trainer::create(zoo::build_model(test.model, {}).value(), train, options).value();
  for (std::int64_t step = 0; step < test.steps; ++step) ASSERT_TRUE(trainer->step().ok());
  const ConfusionMatrix matrix = evaluate(trainer->replica(), unseen).value().confusion;
  EXPECT_GE(matrix.accuracy(), test.accuracy) << matrix.to_string(unseen->class_names());
}

}  // namespace
}  // namespace mangrove::learn
