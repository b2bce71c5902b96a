#include "mangrove/train/data_parallel/training_progress.h"

#include <gtest/gtest.h>

namespace mangrove::train {
namespace {

learn::BatchStats stats(double loss, std::int64_t correct, std::int64_t count) {
  return {.loss = loss, .correct = correct, .count = count};
}

TEST(TrainingProgress, CountsSamplesStepsAndTime) {
  TrainingProgress progress;
  progress.begin({100});
  progress.begin_epoch();
  progress.add(stats(8, 1, 4), 4, 1);
  progress.add(stats(4, 3, 4), 4, 1);
  EXPECT_EQ(progress.samples(), 8);
  EXPECT_EQ(progress.step(), 2);
  EXPECT_EQ(progress.epoch_stats().loss, 12);
  EXPECT_EQ(progress.take_recent().correct, 4);
  EXPECT_EQ(progress.take_recent().count, 0) << "nothing since the last call";
  progress.leave_out(2);  // a validation
  EXPECT_DOUBLE_EQ(progress.seconds({106}), 4);
  EXPECT_DOUBLE_EQ(progress.samples_per_s({106}), 2);
  progress.end_epochs(1);
  EXPECT_EQ(progress.epoch(), 1);
  EXPECT_EQ(progress.epoch_stats().count, 8) << "until the next one begins";
  progress.begin_epoch();
  EXPECT_EQ(progress.epoch_stats().count, 0);
}

TEST(TrainingProgress, BeforeAnyTimeHasPassedThereIsNoRate) {
  TrainingProgress progress;
  progress.begin({5});
  progress.add(stats(1, 1, 1), 1, 1);
  EXPECT_EQ(progress.samples_per_s({5}), 0);
}

TEST(TrainingProgress, AJobThatIsResumedCountsOn) {
  TrainingProgress first;
  first.begin({0});
  first.add(stats(6, 2, 10), 10, 2);
  first.end_epochs(1);
  learn::Checkpoint checkpoint;
  first.save(checkpoint, {20});
  TrainingProgress second;
  second.resume(checkpoint, 10);
  second.begin({1000});
  EXPECT_EQ(second.epoch(), 1);
  EXPECT_EQ(second.step(), 2);
  EXPECT_EQ(second.epoch_stats().loss, 6);
  second.add(stats(1, 1, 6), 6, 1);
  EXPECT_EQ(second.samples(), 16);
  EXPECT_EQ(second.take_recent().count, 6);
  EXPECT_DOUBLE_EQ(second.seconds({1003}), 23);
  EXPECT_DOUBLE_EQ(second.samples_per_s({1003}), 2) << "of this run alone";
}

}  // namespace
}  // namespace mangrove::train
