#include <gtest/gtest.h>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/base/process_memory.h"
#include "mangrove/base/random.h"
#include "mangrove/data/subset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/evaluate.h"
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
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
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
    if (report.json.find("\"phase\":\"validate\"") != std::string::npos) world.stop().request_stop();
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

/// Two convolutions whose activations take much more than its parameters: 0.3 MB a sample.
Graph wide_graph() {
  GraphParts parts;
  parts.name = "wide";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  const auto weights = [](Shape shape, double limit, std::uint64_t seed) {
    Tensor tensor(DType::f32, std::move(shape));
    Random random(seed);
    for (float& value : tensor.as<float>()) value = static_cast<float>(random.uniform(-limit, limit));
    return tensor;
  };
  parts.initializers = {{"w1", weights({32, 1, 3, 3}, 0.5, 1)},
                        {"w2", weights({32, 32, 3, 3}, 0.1, 2)},
                        {"w3", weights({32, 10}, 0.3, 3)}};
  parts.nodes = {{"conv1", "Conv", {}, {"input", "w1"}, {"a"}},   {"relu1", "Relu", {}, {"a"}, {"b"}},
                 {"conv2", "Conv", {}, {"b", "w2"}, {"c"}},       {"relu2", "Relu", {}, {"c"}, {"d"}},
                 {"mean", "GlobalAveragePool", {}, {"d"}, {"e"}}, {"flat", "Flatten", {}, {"e"}, {"f"}},
                 {"fc", "Gemm", {}, {"f", "w3"}, {"logits"}}};
  return Graph::create(std::move(parts)).value();
}

TEST(MemoryBudget, HoldsWithValidation) {
  MG_SKIP_IF_SANITIZED("a sanitizer holds memory of its own, which counts to the process");
  TrainJob job = small_job(256);
  job.set_model(encode_onnx(wide_graph()));
  job.set_data("glyphs,validation=600");
  job.set_batch(256);
  job.clear_backend();
  job.set_memory(resident_memory() + MiB(60));  // 80 MiB would take the whole batch
  const RoleWorld::Outcome outcome = train(job, 1);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::string result = outcome.result();
  EXPECT_LE(json_number(result, "predicted_peak"), job.memory());
  EXPECT_GT(json_number(result, "unlimited"), MiB(50)) << result;
  EXPECT_TRUE(json_number(result, "micro_batch") < 256 || json_number(result, "recomputed_share") > 0) << result;

  // what was measured beside the training, measured again without it
  auto validation = data::open_dataset("glyphs,validation=600", data::Split::validation, "/");
  ASSERT_TRUE(validation.ok());
  const auto replica =
      learn::Replica::create(model_of(outcome.last("result")), {.batch = 50, .mode = Mode::inference}).value();
  const auto evaluation = learn::evaluate(*replica, data::first_samples(*validation, 256));
  ASSERT_TRUE(evaluation.ok()) << evaluation.error().message;
  EXPECT_NEAR(json_number(outcome.last("epoch").json, "validation_accuracy"), evaluation->confusion.accuracy(), 0.01);
  EXPECT_NEAR(json_number(outcome.last("epoch").json, "validation_loss"), evaluation->loss, 1e-4);
}

TEST(MemoryBudget, AResumedRunHasTheMicroBatchesOfTheCheckpoint) {
  TrainJob job = validated_job();
  job.set_batch(32);
  const RoleWorld::Outcome whole = train(job, 2);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  EXPECT_EQ(json_number(whole.result(), "micro_batch"), 32) << "there is memory for all of it";
  learn::Checkpoint checkpoint = learn::parse_checkpoint(whole.of_kind("checkpoint").front().attachment).value();
  EXPECT_EQ(checkpoint.micro_batches, (std::vector<std::int64_t>{32, 32}));
  checkpoint.micro_batches = {16, 8};  // as if there had been less
  job.set_resume_from(encode_checkpoint(checkpoint));
  const RoleWorld::Outcome resumed = train(job, 2);
  ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
  EXPECT_TRUE(resumed.has_event(R"("event":"memory_plan","node":"rank-1","micro_batch":16)"));
  EXPECT_TRUE(resumed.has_event(R"("event":"memory_plan","node":"rank-2","micro_batch":8)"));
  EXPECT_EQ(learn::parse_checkpoint(resumed.last("checkpoint").attachment)->micro_batches, checkpoint.micro_batches);
}

}  // namespace
}  // namespace mangrove::train
