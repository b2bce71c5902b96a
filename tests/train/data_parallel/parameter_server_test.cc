#include "mangrove/train/data_parallel/parameter_server.h"

#include <gtest/gtest.h>

#include "tests/train/training_job.h"

#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/trainer.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

/// The first samples of a data set, as the job's limit takes them.
class FirstSamples final : public data::Dataset {
 public:
  FirstSamples(std::shared_ptr<const data::Dataset> all, std::uint32_t size) : all_(std::move(all)), size_(size) {}
  std::uint32_t size() const override { return size_; }
  Shape sample_shape() const override { return all_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return all_->class_names(); }
  std::int32_t label(std::uint32_t index) const override { return all_->label(index); }
  Status read(std::uint32_t index, std::span<float> out) const override { return all_->read(index, out); }

 private:
  std::shared_ptr<const data::Dataset> all_;
  std::uint32_t size_;
};

/// What one device computes, without any of this module.
std::vector<float> trained_alone(const TrainJob& job, std::int64_t batch, std::int64_t steps) {
  auto glyphs = data::open_dataset(job.data(), data::Split::train, {});
  EXPECT_TRUE(glyphs.ok());
  const auto samples = std::make_shared<FirstSamples>(*glyphs, static_cast<std::uint32_t>(job.limit()));
  learn::Trainer::Options options;
  options.replica = {.batch = batch, .mode = Mode::training, .backend = job.backend(), .threads = 1};
  const Hyperparameters recipe = *hyperparameters_of(job);
  options.optimizer = recipe.optimizer;
  options.learning_rate = job.learning_rate();
  options.schedule = recipe.schedule;
  options.ema_decay = recipe.ema_decay;
  options.replica.loss = recipe.loss;
  options.total_steps = steps;
  options.seed = job.seed();
  auto trainer = learn::Trainer::create(*parse_onnx(job.model()), samples, options);
  EXPECT_TRUE(trainer.ok());
  for (std::int64_t step = 0; step < steps; ++step) EXPECT_TRUE((*trainer)->step().ok());
  return learn::flat_parameters((*trainer)->model());
}

class Workers : public ::testing::TestWithParam<int> {};

TEST_P(Workers, ComputeWhatOneDeviceDoes) {
  const int workers = GetParam();
  TrainJob job = small_job(20 * 30);
  job.set_batch(30 / workers);
  job.set_schedule("cosine");
  job.set_warmup_steps(4);
  job.set_weight_decay(0.001f);
  const RoleWorld::Outcome outcome = train(job, workers);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  for (const Status& status : outcome.others) EXPECT_TRUE(status.ok());
  EXPECT_EQ(json_number(outcome.result(), "steps"), 20);
  EXPECT_LT(relative_difference(trained_parameters(outcome), trained_alone(job, 30, 20)), 1e-5);
}

TEST(ParameterServer, EveryOptimizerComputesWhatOneDeviceDoes) {
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    TrainJob job = small_job(10 * 30);
    job.set_batch(10);
    job.set_optimizer(std::string(row.name));
    job.set_learning_rate(0.01f);
    job.set_weight_decay(0.001f);
    job.set_epsilon(1e-3f);  // adam and its like would divide rounding errors by nearly nothing
    job.set_clip_norm(1);
    job.set_ema_decay(0.9f);
    job.set_label_smoothing(0.1f);
    const RoleWorld::Outcome outcome = train(job, 3);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_LT(relative_difference(trained_parameters(outcome), trained_alone(job, 30, 10)), 1e-5) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(ParameterServer, Workers, ::testing::Values(1, 2, 3, 5));

TEST(ParameterServer, TwoEpochsWithAnUnevenEndEqualOneDevice) {
  TrainJob job = small_job(50);  // steps of 24, 24 and 2
  job.set_epochs(2);
  const RoleWorld::Outcome outcome = train(job, 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "steps"), 6);
  EXPECT_EQ(json_number(outcome.result(), "samples"), 100);
  EXPECT_LT(relative_difference(trained_parameters(outcome), trained_alone(job, 24, 6)), 1e-5);
}

TEST(ParameterServer, TwoRunsAreBitEqual) {
  const TrainJob job = small_job(130);
  const RoleWorld::Outcome first = train(job, 3), second = train(job, 3);
  ASSERT_TRUE(first.leader.ok() && second.leader.ok());
  EXPECT_EQ(first.last("result").attachment, second.last("result").attachment);
}

TEST(ParameterServer, ReportsProgressCheckpointAndResult) {
  const TrainJob job = small_job(64);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_FALSE(outcome.of_kind("checkpoint").empty());
  EXPECT_EQ(outcome.reports.back().kind, ReportKind::result);
  const std::string progress = outcome.of_kind("progress").front().json;
  for (const char* key :
       {"epoch", "epochs", "step", "steps", "loss", "accuracy", "images_per_s", "eta_s", "done", "total"}) {
    EXPECT_GE(json_number(progress, key), 0) << key << " in " << progress;
  }
  const std::string result = outcome.result();
  for (const char* key : {"accuracy", "macro_f1", "epochs", "steps", "samples", "train_seconds", "eval_seconds",
                          "images_per_s", "loss", "train_accuracy", "workers", "batch"}) {
    EXPECT_GE(json_number(result, key), 0) << key << " in " << result;
  }
  Result<Graph> model = parse_onnx(outcome.last("result").attachment);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->metadata().at("mangrove.data"), "glyphs");
}

TEST(ParameterServer, LearnsGlyphs) {
  TrainJob job = small_job(4000);
  job.set_epochs(2);
  job.set_batch(16);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GT(json_number(outcome.result(), "accuracy"), 0.5) << outcome.result();
}

TEST(RunTraining, UnknownStrategyNamesTheNearest) {
  TrainJob job = small_job(10);
  job.set_strategy("parameter_serve");
  const RoleWorld::Outcome outcome = train(job, 1);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::not_found);
  EXPECT_NE(outcome.leader.error().message.find("'parameter_server'"), std::string::npos)
      << outcome.leader.error().message;
}

TEST(ParameterServer, NoWorkersIsAnError) {
  const RoleWorld::Outcome outcome = train(small_job(10), 0);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
}

TEST(ParameterServer, AModelForOtherDataIsRefused) {
  TrainJob job = small_job(10);
  GraphParts parts = small_graph().parts();
  parts.inputs.front().second.shape = {kBatch, 1, 14, 56};  // as many pixels
  job.set_model(encode_onnx(*Graph::create(std::move(parts))));
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(
      outcome.leader.error().message.find("samples [1, 14, 56] of 10 classes, the data set has samples [1, 28, 28]"),
      std::string::npos)
      << outcome.leader.error().message;
}

TEST(ParameterServer, AnUnknownDataSetIsTheJobsError) {
  TrainJob job = small_job(10);
  job.set_data("glyph");
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::not_found);
  EXPECT_NE(outcome.leader.error().message.find("'glyphs'"), std::string::npos) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.leader.error().message.starts_with("rank-1 and rank-2: ")) << outcome.leader.error().message;
  EXPECT_FALSE(outcome.has_event("worker_left_out")) << "the error alone says it, once";
}

TEST(ParameterServer, ACorruptModelIsTheJobsError) {
  TrainJob job = small_job(10);
  job.set_model("not onnx");
  const RoleWorld::Outcome outcome = train(job, 1);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.error().message.substr(0, 5), "model");
}

}  // namespace
}  // namespace mangrove::train
