// What a network has learnt in the end, whatever the strategy and whoever is lost: as much as on one device.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/base/temporary_folder.h"
#include "tests/train/training_job.h"

#include "mangrove/data/glyphs.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int32_t kDigits = 3;
constexpr std::size_t kTrain = 3000, kTest = 3000;
constexpr std::int64_t kEpochs = 6;
constexpr Seconds kTrainingAccuracyLatency = 0.1, kTrainingAccuracyJitter = 0.02;

/// The elements as an IDX file: the magic number and the sizes come first, big-endian.
void write_idx(const fs::path& path, const std::vector<std::uint32_t>& sizes, const std::string& elements) {
  std::string header;
  const auto append = [&](std::uint32_t number) {
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(number >> shift & 0xff);
  };
  append(0x800 + static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint32_t size : sizes) append(size);
  std::ofstream(path, std::ios::binary) << header << elements;
}

/// The first `count` glyphs of the first digits, as MNIST comes.
void write_digits(data::Split split, std::size_t count, const fs::path& prefix) {
  const auto glyphs = data::make_glyphs(split);
  std::vector<float> pixels(std::size_t{28} * 28);
  std::string images, labels;
  for (std::uint32_t i = 0; i < glyphs->size() && labels.size() < count; ++i) {
    if (glyphs->label(i) >= kDigits) continue;
    ASSERT_TRUE(glyphs->read(i, pixels).ok());
    for (const float pixel : pixels) images += static_cast<char>(std::lround(pixel * 255));
    labels += static_cast<char>(glyphs->label(i));
  }
  ASSERT_EQ(labels.size(), count);
  write_idx(prefix.string() + "-images-idx3-ubyte", {static_cast<std::uint32_t>(count), 28, 28}, images);
  write_idx(prefix.string() + "-labels-idx1-ubyte", {static_cast<std::uint32_t>(count)}, labels);
}

/// Few digits in few epochs, but enough to test that half a percent is more than a few samples.
class Accuracy : public ::testing::TestWithParam<StrategyCase> {
 protected:
  void SetUp() override {
    MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer, and takes long with one");
    write_digits(data::Split::train, kTrain, folder_ / "train");
    write_digits(data::Split::test, kTest, folder_ / "t10k");
  }
  /// With the default learning rate for the strategy and the number of workers.
  TrainJob job() const {
    TrainJob job = small_job(0);
    job.set_data("idx:" + folder_.path().string());
    job.set_batch(8);
    job.set_epochs(kEpochs);
    job.set_learning_rate(0);
    job.set_schedule("cosine");
    job.set_step_timeout_s(20);
    TrainJob of_strategy = job;
    GetParam().choose(of_strategy);
    job.set_model(encode_onnx(convolutional_graph(kDigits, strategy_of(of_strategy).divides_layers ? 24 : 0)));
    return job;
  }
  TrainJob job_of_strategy() const {
    TrainJob of_strategy = job();
    GetParam().choose(of_strategy);
    return of_strategy;
  }
  bool steps_locally() const { return strategy_of(job_of_strategy()).steps_locally; }
  /// Of every step, the gradients of those who are last are left out: two undisturbed runs come to results that differ,
  /// by up to half a percent.
  bool leaves_gradients_out() const {
    return !steps_locally() && job_of_strategy().consistency().starts_with("k_of_n");
  }

 private:
  const mangrove::testing::TemporaryFolder folder_;
};

double accuracy(const RoleWorld::Outcome& outcome) {
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return outcome.leader.ok() ? json_number(outcome.result(), "accuracy") : 0;
}

double accuracy_in_virtual_time(const TrainJob& job, int workers) {
  RoleWorld world(workers + 1);
  world.use_virtual_time(kTrainingAccuracyLatency, kTrainingAccuracyJitter);
  return accuracy(train(job, world));
}

TEST_P(Accuracy, IsThatOfOneDeviceAfterAsManyEpochs) {
  const double alone = accuracy_in_virtual_time(job(), 1);
  EXPECT_GT(alone, 0.97);
  EXPECT_LT(alone, 0.999) << "else the task says nothing";
  EXPECT_GT(accuracy_in_virtual_time(job_of_strategy(), 4), alone - (steps_locally() ? 0.01 : 0.005));
}

/// Five workers: the first is killed after a fifth of the training, the second freezes after two fifths, the third is
/// cut off after three, these for long enough to be given up.
RoleWorld::Outcome disturbed(const TrainJob& job) {
  RoleWorld world(6);
  world.use_virtual_time(kTrainingAccuracyLatency, kTrainingAccuracyJitter);
  world.cancel_at_end();
  const std::vector<std::function<void()>> faults = {
      [&] { world.kill(1); },
      [&] { world.freeze(2, RoleWorld::kDetectorTime + 0.2); },
      [&] { world.cut_off(3, RoleWorld::kDetectorTime + 0.2); },
  };
  std::size_t struck = 0;
  world.on_report([&](const Report& report) {
    if (report.kind != ReportKind::progress) return;
    const auto progress = nlohmann::json::parse(report.json);
    if (progress["phase"] != "train" || struck == faults.size()) return;
    const double share = progress["done"].get<double>() / progress["total"].get<double>();
    if (share >= 0.2 * static_cast<double>(struck + 1)) faults[struck++]();
  });
  RoleWorld::Outcome outcome = train(job, world);
  EXPECT_EQ(struck, faults.size());
  EXPECT_EQ(outcome.others.size(), 7u) << "who fell silent was given up, and came back";
  return outcome;
}

TEST_P(Accuracy, IsNotLostWithWorkers) {
  const RoleWorld::Outcome outcome = disturbed(job_of_strategy());
  EXPECT_EQ(json_number(outcome.result(), "samples"), kEpochs * static_cast<std::int64_t>(kTrain));
  EXPECT_EQ(json_number(outcome.result(), "workers"), 4);
  // it may be better: gradients of fewer workers are less late
  EXPECT_GE(accuracy(outcome),
            accuracy_in_virtual_time(job_of_strategy(), 5) - (leaves_gradients_out() ? 0.01 : 0.003));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Accuracy, ::testing::ValuesIn(every_strategy()), name_of);

}  // namespace
}  // namespace mangrove::train
