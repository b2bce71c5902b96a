#include <gtest/gtest.h>

#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"

namespace mangrove::train {
namespace {

TrainJob validated_job() {
  TrainJob job = small_job(96);
  job.set_model(encode_onnx(normalized_graph()));
  job.set_data("glyphs,validation=600");
  job.set_epochs(3);
  job.set_checkpoint_every_s(1e-9);  // after every step
  return job;
}

Graph model_of(const Report& report) {
  return parse_onnx(report.attachment).value();
}

TEST(States, TravelWithEveryStep) {
  TrainJob job = validated_job();
  const RoleWorld::Outcome outcome = train(job, 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::vector<float> states = learn::flat_states(model_of(outcome.last("result")));
  EXPECT_NE(states, learn::flat_states(normalized_graph()));
  // the test split was classified with them: better than by chance, which wrong statistics would not be
  EXPECT_GT(json_number(outcome.result(), "accuracy"), 0.2) << outcome.result();
}

TEST(States, WorkersOfABatchEqualMicroBatchesOfOne) {
  TrainJob job = validated_job();
  const RoleWorld::Outcome three = train(job, 3);
  job.set_batch(24);
  job.set_micro_batch(8);
  const RoleWorld::Outcome one = train(job, 1);
  ASSERT_TRUE(three.leader.ok() && one.leader.ok());
  EXPECT_LT(relative_difference(trained_parameters(three), trained_parameters(one)), 1e-5);
}

TEST(Resume, IsBitEqualWithEveryOptimizerStatesAverageAndPlateau) {
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    TrainJob job = validated_job();
    job.set_epochs(2);
    job.set_batch(16);
    job.set_optimizer(std::string(row.name));
    job.set_schedule("reduce_on_plateau");
    job.set_plateau_patience(0);
    job.set_learning_rate(0.02f);
    job.set_ema_decay(0.9f);
    const RoleWorld::Outcome whole = train(job, 2);
    ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
    const auto checkpoints = whole.of_kind("checkpoint");
    ASSERT_EQ(checkpoints.size(), 6u);
    for (const std::size_t at : {0u, 2u, 4u}) {
      job.set_resume_from(checkpoints[at].attachment);
      const RoleWorld::Outcome resumed = train(job, 2);
      ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
      EXPECT_EQ(resumed.last("result").attachment, whole.last("result").attachment) << row.name << " " << at;
      EXPECT_EQ(json_number(resumed.result(), "best_validation_loss"),
                json_number(whole.result(), "best_validation_loss"));
    }
  }
}

TEST(Resume, OfARunThatWasStoppedDuringValidationMeasuresIt) {
  TrainJob job = validated_job();
  const RoleWorld::Outcome whole = train(job, 2);
  ASSERT_TRUE(whole.leader.ok());
  RoleWorld world(3);
  world.on_report([&](const Report& report) {
    if (report.json.find("\"phase\":\"evaluate\"") != std::string::npos) world.stop().request_stop();
  });
  const RoleWorld::Outcome stopped = train(job, world);
  ASSERT_FALSE(stopped.leader.ok());
  job.set_resume_from(stopped.last("checkpoint").attachment);
  const RoleWorld::Outcome resumed = train(job, 2);
  ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
  EXPECT_EQ(resumed.of_kind("epoch").size() + stopped.of_kind("epoch").size(), 3u);
  EXPECT_EQ(resumed.last("result").attachment, whole.last("result").attachment);
}

TEST(Validation, IsReportedAfterEachEpochWithTheBestModel) {
  const TrainJob job = validated_job();
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const auto epochs = outcome.of_kind("epoch");
  ASSERT_EQ(epochs.size(), 3u);
  double best = -1;
  std::string best_model;
  for (const Report& epoch : epochs) {
    for (const char* key : {"epoch", "loss", "accuracy", "learning_rate", "train_seconds", "validation_loss",
                            "validation_accuracy", "best_epoch", "best_accuracy"})
      EXPECT_GE(json_number(epoch.json, key), 0) << key << " in " << epoch.json;
    const bool is_best = json_number(epoch.json, "validation_accuracy") > best;
    EXPECT_TRUE(!is_best || !epoch.attachment.empty()) << epoch.json;
    best = std::max(best, json_number(epoch.json, "validation_accuracy"));
    EXPECT_EQ(json_number(epoch.json, "best_accuracy"), best);
    if (!epoch.attachment.empty()) best_model = epoch.attachment;
  }
  EXPECT_EQ(json_number(outcome.result(), "best_validation_accuracy"), best);
  EXPECT_EQ(parse_onnx(best_model)->metadata().at("mangrove.data"), job.data());
}

TEST(Validation, WithoutASplitOnlyTheTrainingIsReported) {
  TrainJob job = validated_job();
  job.set_data("glyphs");
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  ASSERT_EQ(outcome.of_kind("epoch").size(), 3u);
  EXPECT_EQ(outcome.last("epoch").json.find("validation"), std::string::npos);
  EXPECT_TRUE(outcome.last("epoch").attachment.empty());
}

TEST(EarlyStopping, EndsWhenTheBestIsPatienceEpochsAgo) {
  TrainJob job = validated_job();
  job.set_epochs(50);
  job.set_learning_rate(1e-12f);  // nothing gets better
  job.set_patience(2);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.has_event("stopped_early"));
  const double best = json_number(outcome.result(), "best_epoch");
  EXPECT_EQ(json_number(outcome.result(), "epochs"), best + 2);
}

TEST(Validation, WhatGoesByItNeedsIt) {
  for (const bool by_schedule : {false, true}) {
    TrainJob job = validated_job();
    job.set_data("glyphs");
    by_schedule ? job.set_schedule("reduce_on_plateau") : job.set_patience(1);
    const RoleWorld::Outcome outcome = train(job, 1);
    ASSERT_FALSE(outcome.leader.ok());
    EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
    EXPECT_NE(outcome.leader.error().message.find("validation"), std::string::npos) << outcome.leader.error().message;
  }
}

}  // namespace
}  // namespace mangrove::train
