#include <gtest/gtest.h>

#include <limits>

#include "tests/train/training_job.h"

namespace mangrove::train {
namespace {

TrainJob resumable_job() {
  TrainJob job = small_job(100);  // steps of 16, the last one of an epoch of 4
  job.set_epochs(2);
  job.set_schedule("cosine");
  job.set_checkpoint_every_s(1e-9);  // after every step
  return job;
}

TEST(Resume, FromAnyCheckpointEndsBitEqual) {
  TrainJob job = resumable_job();
  const RoleWorld::Outcome whole = train(job, 2);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  const auto checkpoints = whole.of_kind("checkpoint");
  ASSERT_EQ(checkpoints.size(), 14u);  // 7 steps in each epoch
  for (const Report& checkpoint : checkpoints) {
    job.set_resume_from(checkpoint.attachment);
    const RoleWorld::Outcome resumed = train(job, 2);
    ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << checkpoint.json;
    for (const char* key : {"accuracy", "steps", "samples", "loss", "train_accuracy", "epochs"}) {
      EXPECT_EQ(json_number(resumed.result(), key), json_number(whole.result(), key)) << key << " " << checkpoint.json;
    }
  }
}

TEST(Resume, AfterBeingStoppedEndsBitEqual) {
  TrainJob job = resumable_job();
  const RoleWorld::Outcome whole = train(job, 2);
  ASSERT_TRUE(whole.leader.ok());
  for (const std::size_t stop_at : {1, 4, 7, 9}) {
    RoleWorld world(3);
    std::size_t checkpoints = 0;
    world.on_report([&](const Report& report) {
      if (report.kind == ReportKind::checkpoint && ++checkpoints == stop_at) world.stop().request_stop();
    });
    job.clear_resume_from();
    const RoleWorld::Outcome stopped = train(job, world);
    ASSERT_FALSE(stopped.leader.ok());
    EXPECT_EQ(stopped.leader.code(), Code::cancelled) << stopped.leader.error().message;
    EXPECT_EQ(stopped.reports.back().kind, ReportKind::checkpoint);
    job.set_resume_from(stopped.reports.back().attachment);
    const RoleWorld::Outcome resumed = train(job, 2);
    ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << "stopped at checkpoint " << stop_at;
  }
}

TEST(Resume, AnotherJobsCheckpointIsRefusedByName) {
  TrainJob job = resumable_job();
  const RoleWorld::Outcome whole = train(job, 2);
  job.set_resume_from(whole.of_kind("checkpoint").front().attachment);
  job.set_batch(4);
  const RoleWorld::Outcome resumed = train(job, 2);
  ASSERT_FALSE(resumed.leader.ok());
  EXPECT_EQ(resumed.leader.code(), Code::invalid_argument);
  EXPECT_NE(resumed.leader.error().message.find("batch is '8' in the checkpoint and '4' in this job"),
            std::string::npos)
      << resumed.leader.error().message;
}

/// A client may be anybody, and send what no run has written.
TEST(Resume, ACheckpointWithNumbersWithoutBoundIsDataLoss) {
  TrainJob job = resumable_job();
  const RoleWorld::Outcome whole = train(job, 2);
  const std::string written = whole.of_kind("checkpoint").front().attachment;
  learn::Checkpoint late = learn::parse_checkpoint(written).value(), large = late;
  late.step = std::numeric_limits<std::int64_t>::max();
  const std::string key = "pace.samples_per_step=";
  const std::size_t at = large.job.find(key);
  ASSERT_NE(at, std::string::npos);
  large.job.replace(at, large.job.find('\n', at) - at, key + "9223372036854775807");
  for (const learn::Checkpoint& hostile : {late, large}) {
    job.set_resume_from(learn::encode_checkpoint(hostile));
    const RoleWorld::Outcome resumed = train(job, 2);
    ASSERT_FALSE(resumed.leader.ok());
    EXPECT_EQ(resumed.leader.code(), Code::data_loss) << resumed.leader.error().message;
  }
}

TEST(Resume, ACorruptCheckpointIsDataLoss) {
  TrainJob job = resumable_job();
  job.set_resume_from("nonsense");
  const RoleWorld::Outcome resumed = train(job, 1);
  ASSERT_FALSE(resumed.leader.ok());
  EXPECT_EQ(resumed.leader.code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::train
