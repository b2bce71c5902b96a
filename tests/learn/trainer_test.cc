#include "mangrove/learn/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "networks.h"

namespace mangrove::learn {
namespace {

Trainer::Options options_on(const std::string& backend) {
  Trainer::Options options;
  options.replica.batch = 8;
  options.replica.backend = backend;
  options.sgd = {.learning_rate = 0.2f, .momentum = 0.9f, .weight_decay = 1e-3f};
  options.schedule = Schedule::cosine;
  options.warmup_steps = 3;
  options.total_steps = 40;
  options.seed = 5;
  return options;
}

std::unique_ptr<Trainer> trainer_of(std::shared_ptr<const data::Dataset> dataset, const Trainer::Options& options) {
  auto trainer = Trainer::create(small_network(), std::move(dataset), options);
  MG_CHECK_MSG(trainer.ok(), trainer.ok() ? "" : trainer.error().message);
  return std::move(trainer).value();
}

void take_steps(Trainer& trainer, int steps) {
  for (int i = 0; i < steps; ++i) {
    const auto stats = trainer.step();
    ASSERT_TRUE(stats.ok()) << stats.error().message;
  }
}

class TrainerOn : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, TrainerOn, ::testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& test) { return test.param; });

TEST_P(TrainerOn, ContinuesFromACheckpointAsIfItHadNeverStopped) {
  const auto dataset = std::make_shared<Patterns>(44);  // 6 steps in an epoch, the last one of 4 samples
  for (const int before : {1, 4, 5, 6, 9}) {
    const auto whole = trainer_of(dataset, options_on(GetParam())), first = trainer_of(dataset, options_on(GetParam()));
    take_steps(*whole, 2 * before);
    take_steps(*first, before);
    const auto parsed = parse_checkpoint(encode_checkpoint(first->checkpoint()));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const auto second = trainer_of(dataset, options_on(GetParam()));
    take_steps(*second, 2);  // whatever it did before must not matter
    ASSERT_TRUE(second->restore(*parsed).ok());
    take_steps(*second, before);
    const Checkpoint expected = whole->checkpoint(), actual = second->checkpoint();
    EXPECT_EQ(actual.parameters, expected.parameters) << before;
    EXPECT_EQ(actual.momentum, expected.momentum) << before;
    EXPECT_EQ(actual.pending, expected.pending) << before;
    EXPECT_EQ(actual.step, 2 * before);
    EXPECT_EQ(actual.epoch, expected.epoch);
    EXPECT_EQ(actual.epoch_stats.loss, expected.epoch_stats.loss);
    EXPECT_EQ(actual.epoch_stats.count, expected.epoch_stats.count);
  }
}

TEST_P(TrainerOn, StepIsTheMeanGradientThenSgd) {
  const auto dataset = std::make_shared<Patterns>(12);
  const Trainer::Options options = options_on(GetParam());
  const auto trainer = trainer_of(dataset, options);
  auto replica = Replica::create(small_network(), {.batch = 8, .backend = "portable"}).value();
  std::vector<float> w = flat_parameters(small_network()), g(w.size()), v(w.size());
  for (std::int64_t step = 0; step < 4; ++step) {  // two epochs: 8 samples, 4 samples, twice
    const auto order = data::epoch_order(12, options.seed, static_cast<std::uint64_t>(step / 2));
    const std::size_t first = step % 2 == 0 ? 0 : 8, count = step % 2 == 0 ? 8 : 4;
    data::Batch batch = batch_of(*dataset, 0, 0, 8);
    for (std::size_t row = 0; row < count; ++row) {
      const std::uint32_t sample = order[first + row];
      ASSERT_TRUE(dataset->read(sample, batch.images.as<float>().subspan(row * 36, 36)).ok());
      batch.labels[row] = dataset->label(sample);
    }
    replica->write_parameters(w);
    replica->compute_gradients(batch, 1.0f / static_cast<float>(count));
    replica->read_gradients(g);
    const float rate = scheduled_rate(options.schedule, 0.2f, step, 40, 3);
    sgd_step(w, g, v, {.learning_rate = rate, .momentum = 0.9f, .weight_decay = 1e-3f});
    take_steps(*trainer, 1);
  }
  const Checkpoint checkpoint = trainer->checkpoint();
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(checkpoint.parameters[i], w[i], 1e-5) << i;
    EXPECT_NEAR(checkpoint.momentum[i], v[i], 1e-5) << i;
  }
}

TEST_P(TrainerOn, LearnsPatterns) {
  const auto dataset = std::make_shared<Patterns>(400), unseen = std::make_shared<Patterns>(500);
  const auto trainer = trainer_of(dataset, options_on(GetParam()));
  take_steps(*trainer, 40);
  const auto matrix = evaluate(trainer->replica(), unseen);
  ASSERT_TRUE(matrix.ok()) << matrix.error().message;
  EXPECT_EQ(matrix->total(), 500);
  EXPECT_GT(matrix->accuracy(), 0.97);
}

TEST(Trainer, CountsStepsEpochsAndSamples) {
  const auto trainer = trainer_of(std::make_shared<Patterns>(20), options_on(""));
  const std::int64_t counts[] = {8, 8, 4, 8, 8, 4, 8};
  for (int step = 0; step < 7; ++step) {
    const auto stats = trainer->step();
    ASSERT_TRUE(stats.ok());
    EXPECT_EQ(stats->count, counts[step]) << step;
    EXPECT_EQ(trainer->steps_done(), step + 1);
    EXPECT_EQ(trainer->epochs_done(), (step + 1) / 3);
  }
  const Checkpoint checkpoint = trainer->checkpoint();
  EXPECT_EQ(checkpoint.pending.size(), 12u);
  EXPECT_EQ(checkpoint.epoch_stats.count, 8);
  EXPECT_GT(checkpoint.train_seconds, 0);
}

TEST(Trainer, RefusesCheckpointsThatDoNotFit) {
  const auto trainer = trainer_of(std::make_shared<Patterns>(20), options_on(""));
  take_steps(*trainer, 1);
  const Checkpoint good = trainer->checkpoint();
  Checkpoint other_network = good, no_momentum = good, other_data = good, too_many = good;
  other_network.parameters.push_back(0);
  no_momentum.momentum.clear();
  other_data.pending[0] = 20;
  too_many.pending.assign(21, 0);
  for (const Checkpoint& bad : {other_network, no_momentum, other_data, too_many})
    EXPECT_EQ(trainer->restore(bad).code(), Code::invalid_argument);
  EXPECT_EQ(trainer->checkpoint().parameters, good.parameters);
  EXPECT_EQ(trainer->checkpoint().pending, good.pending);
}

TEST(Trainer, RefusesOptionsAndDataThatDoNotFit) {
  const auto create = [](std::shared_ptr<const data::Dataset> dataset, const Trainer::Options& options) {
    return Trainer::create(small_network(), std::move(dataset), options);
  };
  Trainer::Options endless = options_on("");
  endless.total_steps = 0;
  EXPECT_EQ(create(std::make_shared<Patterns>(20), endless).code(), Code::invalid_argument);
  EXPECT_EQ(create(std::make_shared<Patterns>(0), options_on("")).code(), Code::invalid_argument);
  EXPECT_EQ(create(std::make_shared<Patterns>(20, 3), options_on("")).code(), Code::invalid_argument);
}

TEST(Trainer, ReportsSamplesThatCannotBeRead) {
  const auto trainer = trainer_of(std::make_shared<Patterns>(20, 4, 19), options_on(""));
  Result<BatchStats> last = trainer->step();
  for (int step = 0; step < 2 && last.ok(); ++step) last = trainer->step();
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.code(), Code::data_loss);
  EXPECT_NE(last.error().message.find("sample 19 is broken"), std::string::npos) << last.error().message;
}

TEST(Evaluate, CountsEverySampleOnce) {
  const auto dataset = std::make_shared<Patterns>(27);
  for (const Mode mode : {Mode::inference, Mode::training}) {
    const auto replica = Replica::create(small_network(), {.batch = 8, .mode = mode}).value();
    const auto matrix = evaluate(*replica, dataset);
    ASSERT_TRUE(matrix.ok()) << matrix.error().message;
    ConfusionMatrix expected(4);
    const auto one = Replica::create(small_network(), {.batch = 1, .mode = Mode::inference}).value();
    for (std::uint32_t i = 0; i < 27; ++i)
      expected.add(dataset->label(i), one->predict(batch_of(*dataset, i, 1, 1))[0]);
    EXPECT_EQ(matrix->to_string(dataset->class_names()), expected.to_string(dataset->class_names()));
  }
}

TEST(Evaluate, ReportsWhatItCannotDo) {
  const auto replica = Replica::create(small_network(), {.batch = 8, .mode = Mode::inference}).value();
  EXPECT_EQ(evaluate(*replica, std::make_shared<Patterns>(27, 5)).code(), Code::invalid_argument);
  EXPECT_EQ(evaluate(*replica, std::make_shared<Patterns>(27, 4, 25)).code(), Code::data_loss);
  const auto nothing = evaluate(*replica, std::make_shared<Patterns>(0));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->total(), 0);
}

}  // namespace
}  // namespace mangrove::learn
