#include "mangrove/learn/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <thread>
#include <vector>

#include "tests/learn/networks.h"

namespace mangrove::learn {
namespace {

Trainer::Options options_on(const std::string& backend) {
  Trainer::Options options;
  options.replica.batch = 8;
  options.replica.backend = backend;
  options.optimizer.weight_decay = 1e-3f;
  options.learning_rate = 0.2f;
  options.schedule = {.name = "cosine", .warmup_steps = 3};
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
    EXPECT_EQ(actual.slots, expected.slots) << before;
    EXPECT_EQ(actual.pending, expected.pending) << before;
    EXPECT_EQ(actual.step, 2 * before);
    EXPECT_EQ(actual.epoch, expected.epoch);
    EXPECT_EQ(actual.epoch_stats.loss, expected.epoch_stats.loss);
    EXPECT_EQ(actual.epoch_stats.count, expected.epoch_stats.count);
  }
}

/// The parameters of a graph in flat vectors of values and gradients.
std::vector<Optimizer::Parameter> slices(const Graph& graph, std::span<float> w, std::span<float> g) {
  std::vector<Optimizer::Parameter> parts;
  const std::vector<bool> spared = spared_from_decay(graph);
  std::size_t first = 0;
  for (const std::string& name : graph.parameters()) {
    const auto size = static_cast<std::size_t>(graph.value(name).shape.elements());
    parts.push_back({w.subspan(first, size), g.subspan(first, size), spared[parts.size()]});
    first += size;
  }
  return parts;
}

TEST_P(TrainerOn, StepIsTheMeanGradientThenTheOptimizer) {
  const auto dataset = std::make_shared<Patterns>(12);
  const Trainer::Options options = options_on(GetParam());
  const auto trainer = trainer_of(dataset, options);
  auto replica = Replica::create(small_network(), {.batch = 8, .backend = "portable"}).value();
  std::vector<float> w = flat_parameters(small_network()), g(w.size());
  auto optimizer = Optimizer::create(options.optimizer, slices(small_network(), w, g)).value();
  const auto schedule = Schedule::create(options.schedule).value();
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
    optimizer.step(schedule.rate(0.2f, {.step = step, .total = 40}), step + 1);
    take_steps(*trainer, 1);
  }
  const Checkpoint checkpoint = trainer->checkpoint();
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(checkpoint.parameters[i], w[i], 1e-5) << i;
}

TEST_P(TrainerOn, LearnsPatterns) {
  const auto dataset = std::make_shared<Patterns>(400), unseen = std::make_shared<Patterns>(500);
  const auto trainer = trainer_of(dataset, options_on(GetParam()));
  take_steps(*trainer, 40);
  const auto evaluation = evaluate(trainer->replica(), unseen);
  ASSERT_TRUE(evaluation.ok()) << evaluation.error().message;
  EXPECT_EQ(evaluation->confusion.total(), 500);
  EXPECT_GT(evaluation->confusion.accuracy(), 0.97);
}

Trainer::Options everything_on(const std::string& backend, const std::string& optimizer) {
  Trainer::Options options = options_on(backend);
  options.optimizer = {.name = optimizer, .weight_decay = 1e-3f, .clip_norm = 1};
  options.replica.micro_batch = 3;
  options.replica.loss.label_smoothing = 0.1f;
  options.learning_rate = 0.01f;
  options.ema_decay = 0.9f;
  return options;
}

TEST_P(TrainerOn, ContinuesBitEqualWithEveryOptimizerStatesAndAverage) {
  const auto dataset = std::make_shared<Patterns>(44);
  const Graph graph = normalized_network(0.3f);
  for (const OptimizerRow& row : optimizers()) {
    const Trainer::Options options = everything_on(GetParam(), std::string(row.name));
    const auto whole = Trainer::create(graph, dataset, options).value();
    const auto first = Trainer::create(graph, dataset, options).value();
    const auto second = Trainer::create(graph, dataset, options).value();
    take_steps(*whole, 10);
    take_steps(*first, 5);
    take_steps(*second, 3);
    ASSERT_TRUE(second->restore(parse_checkpoint(encode_checkpoint(first->checkpoint())).value()).ok()) << row.name;
    take_steps(*second, 5);
    const Checkpoint expected = whole->checkpoint(), actual = second->checkpoint();
    EXPECT_EQ(actual.parameters, expected.parameters) << row.name;
    EXPECT_EQ(actual.states, expected.states) << row.name;
    EXPECT_EQ(actual.slots, expected.slots) << row.name;
    EXPECT_EQ(actual.average, expected.average) << row.name;
    EXPECT_NE(actual.average, actual.parameters) << row.name;
    EXPECT_NE(actual.states, flat_states(graph)) << row.name;
  }
}

/// Patterns that count how many samples have been read.
class Counted final : public data::Dataset {
 public:
  std::uint32_t size() const override { return patterns_.size(); }
  Shape sample_shape() const override { return patterns_.sample_shape(); }
  const std::vector<std::string>& class_names() const override { return patterns_.class_names(); }
  std::int32_t label(std::uint32_t index) const override { return patterns_.label(index); }
  Status read(std::uint32_t index, std::span<float> out) const override {
    ++reads;
    return patterns_.read(index, out);
  }
  mutable std::atomic<std::uint32_t> reads = 0;

 private:
  Patterns patterns_{16};
};

TEST(Trainer, LoadsTheNextEpochsFirstBatchBeforeTheEpochEnds) {
  const auto dataset = std::make_shared<Counted>();
  const auto trainer = trainer_of(dataset, options_on("portable"));  // two steps in an epoch
  take_steps(*trainer, 2);
  ASSERT_EQ(trainer->epochs_done(), 1);
  const SteadyClock clock;
  const Deadline deadline = clock.after(30);
  while (dataset->reads < 24 && clock.now() < deadline) std::this_thread::yield();
  EXPECT_GE(dataset->reads, 24u) << "the epoch, and the first batch of the next one";
}

TEST(Trainer, RefusesACheckpointOfAnotherMicroBatch) {
  const auto dataset = std::make_shared<Patterns>(20);
  Trainer::Options options = options_on("portable");
  const Checkpoint checkpoint = trainer_of(dataset, options)->checkpoint();
  EXPECT_EQ(checkpoint.micro_batches, std::vector<std::int64_t>{8});
  options.replica.micro_batch = 3;
  const Status refused = trainer_of(dataset, options)->restore(parse_checkpoint(encode_checkpoint(checkpoint)).value());
  ASSERT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("its micro-batch is 8, the trainer's 3"), std::string::npos)
      << refused.error().message;
}

TEST_P(TrainerOn, MicroBatchesAddUpToTheBatch) {
  const auto dataset = std::make_shared<Patterns>(20);  // batches of 8, 8 and 4: parts of 3, 3 and 2, and of 3 and 1
  Trainer::Options options = options_on(GetParam());
  const auto whole = trainer_of(dataset, options);
  options.replica.micro_batch = 3;
  const auto parts = trainer_of(dataset, options);
  for (int step = 0; step < 6; ++step) {
    const auto a = whole->step(), b = parts->step();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NEAR(a->loss, b->loss, 1e-5);
    EXPECT_EQ(a->count, b->count);
    EXPECT_EQ(a->correct, b->correct);
  }
  const Checkpoint expected = whole->checkpoint(), actual = parts->checkpoint();
  for (std::size_t i = 0; i < expected.parameters.size(); ++i)
    EXPECT_NEAR(actual.parameters[i], expected.parameters[i], 2e-6) << i;
}

TEST_P(TrainerOn, EvaluatesWithRunningStatisticsAndExportsThem) {
  const auto dataset = std::make_shared<Patterns>(400), unseen = std::make_shared<Patterns>(300);
  Trainer::Options options = options_on(GetParam());
  options.learning_rate = 0.05f;
  const auto trainer = Trainer::create(normalized_network(), dataset, options).value();
  take_steps(*trainer, 50);
  const auto refused = evaluate(trainer->replica(), unseen);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::failed_precondition);
  const auto evaluation = trainer->evaluate(unseen);
  ASSERT_TRUE(evaluation.ok()) << evaluation.error().message;
  EXPECT_GT(evaluation->confusion.accuracy(), 0.95);
  const auto exported = Replica::create(trainer->model(), {.batch = 50, .mode = Mode::inference}).value();
  EXPECT_EQ(evaluate(*exported, unseen)->confusion.accuracy(), evaluation->confusion.accuracy());
}

TEST(Trainer, AverageFollowsTheWeights) {
  const auto dataset = std::make_shared<Patterns>(40);
  Trainer::Options options = options_on("portable");
  options.ema_decay = 0.5f;
  const auto trainer = trainer_of(dataset, options);
  std::vector<float> average = flat_parameters(small_network());
  for (int step = 1; step <= 8; ++step) {
    take_steps(*trainer, 1);
    const std::vector<float> weights = trainer->checkpoint().parameters;
    const double keep = std::min(0.5, (1.0 + step) / (10.0 + step));
    for (std::size_t i = 0; i < average.size(); ++i)
      average[i] = static_cast<float>(keep * average[i] + (1 - keep) * weights[i]);
  }
  const std::vector<float> exported = flat_parameters(trainer->model());
  for (std::size_t i = 0; i < average.size(); ++i) EXPECT_NEAR(exported[i], average[i], 1e-6) << i;
}

TEST(Trainer, PaddedBatchesDoNotDisturbStatistics) {
  // samples 0 and 4 of one class; the rows that pad the batch repeat them
  const Graph graph = normalized_network();
  const Patterns dataset(8);
  const auto padded = Replica::create(graph, {.batch = 8}).value(),
             exact = Replica::create(graph, {.batch = 4}).value();
  padded->compute_gradients(batch_of(dataset, 0, 4, 8), 0.25f);
  exact->compute_gradients(batch_of(dataset, 0, 4, 4), 0.25f);
  std::vector<float> a(static_cast<std::size_t>(padded->state_elements())), b(a.size());
  padded->read_states(a);
  exact->read_states(b);
  ASSERT_EQ(a.size(), 10u);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.01f) << i;
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
  no_momentum.slots.clear();
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
  Trainer::Options endless = options_on(""), too_fine = options_on(""), unknown = options_on("");
  too_fine.replica.micro_batch = 9;
  EXPECT_EQ(create(std::make_shared<Patterns>(20), too_fine).code(), Code::invalid_argument);
  unknown.optimizer.name = "adamm";
  EXPECT_EQ(create(std::make_shared<Patterns>(20), unknown).code(), Code::not_found);
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
    std::vector<std::int64_t> told;
    const auto evaluation = evaluate(*replica, dataset, {}, nullptr, [&](std::int64_t done) { told.push_back(done); });
    EXPECT_EQ(told, (std::vector<std::int64_t>{8, 16, 24, 27}));
    ASSERT_TRUE(evaluation.ok()) << evaluation.error().message;
    BatchStats stats;
    replica->predict(batch_of(*dataset, 0, 8, 8), &stats);
    EXPECT_GT(stats.loss, 0);
    ConfusionMatrix expected(4);
    const auto one = Replica::create(small_network(), {.batch = 1, .mode = Mode::inference}).value();
    for (std::uint32_t i = 0; i < 27; ++i)
      expected.add(dataset->label(i), one->predict(batch_of(*dataset, i, 1, 1))[0]);
    EXPECT_EQ(evaluation->confusion.to_string(dataset->class_names()), expected.to_string(dataset->class_names()));
  }
}

TEST(Evaluate, ReportsWhatItCannotDo) {
  const auto replica = Replica::create(small_network(), {.batch = 8, .mode = Mode::inference}).value();
  EXPECT_EQ(evaluate(*replica, std::make_shared<Patterns>(27, 5)).code(), Code::invalid_argument);
  EXPECT_EQ(evaluate(*replica, std::make_shared<Patterns>(27, 4, 25)).code(), Code::data_loss);
  const auto nothing = evaluate(*replica, std::make_shared<Patterns>(0));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->confusion.total(), 0);
}

TEST(Trainer, ConstraintsSeeGradientsBeforeEachUpdateAndWeightsBehindIt) {
  const auto trainer = trainer_of(std::make_shared<Patterns>(44), options_on("portable"));
  const auto views = trainer->replica().execution().parameters();
  const std::vector<float> first(views[0].value.begin(), views[0].value.end());
  int before = 0, after = 0;
  trainer->on_update(
      [&] {
        EXPECT_EQ(before, after);
        ++before;
        std::ranges::fill(views[0].gradient, 0.0f);
      },
      [&] {
        ++after;
        EXPECT_EQ(before, after);
        std::ranges::fill(views[1].value, 0.25f);
      });
  const float decay = 1 - trainer->learning_rate() * 1e-3f;  // all that moves weights without a gradient
  take_steps(*trainer, 1);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(views[0].value[i], first[i] * decay, 1e-6) << i;
  for (const float value : views[1].value) EXPECT_EQ(value, 0.25f);
  take_steps(*trainer, 2);
  EXPECT_EQ(after, 3);
}

TEST(Trainer, TargetsTakeThePlaceOfLabels) {
  Trainer::Options options = options_on("portable");
  options.replica.loss.name = "mse";
  const auto trainer = trainer_of(std::make_shared<Patterns>(44), options);
  std::vector<float> wanted(8 * static_cast<std::size_t>(trainer->replica().classes()), 0.5f);
  std::int64_t asked = 0;
  trainer->set_targets([&](const data::Batch& batch) {
    asked += batch.count;
    return std::span<const float>(wanted);
  });
  const double loss = trainer->step()->loss;
  take_steps(*trainer, 38);
  EXPECT_LT(trainer->step()->loss, 0.2 * loss);
  EXPECT_GT(asked, 44);
}

}  // namespace
}  // namespace mangrove::learn
