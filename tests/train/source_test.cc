#include "mangrove/train/source.h"

#include <gtest/gtest.h>

#include "tests/job/still_device.h"

namespace mangrove::train {
namespace {

/// It says how much memory it has.
struct SizedDevice final : job::StillDevice {
  explicit SizedDevice(Bytes memory) : bytes(memory) {}
  Bytes memory() const override { return bytes; }

  const Bytes bytes;
};

TEST(MostMemory, IsTheJobsAsFarAsTheDeviceHasIt) {
  const SizedDevice board(1'000'000);
  TrainJob job;
  EXPECT_EQ(most_memory(job, board), 900'000) << "without a word some is left to others";
  job.set_memory(950'000);
  EXPECT_EQ(most_memory(job, board), 950'000);
  job.set_memory(2'000'000);
  EXPECT_EQ(most_memory(job, board), 1'000'000);
}

TEST(MostMemory, IsNotLimitedWhereNobodySaysHowMuchThereIs) {
  const SizedDevice board(0);
  TrainJob job;
  EXPECT_EQ(most_memory(job, board), 0);
  job.set_memory(2'000'000);
  EXPECT_EQ(most_memory(job, board), 2'000'000);
}

}  // namespace
}  // namespace mangrove::train
