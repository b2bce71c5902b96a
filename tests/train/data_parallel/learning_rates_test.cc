#include "mangrove/train/data_parallel/learning_rates.h"

#include <gtest/gtest.h>

namespace mangrove::train {
namespace {

learn::Schedule schedule(const std::string& name) {
  return *learn::Schedule::create({.name = name});
}

const LearningRates kRates({.samples_per_step = 8, .base_learning_rate = 1}, /*samples_per_epoch=*/20, /*epochs=*/2);

TEST(LearningRates, APositionFollowsTheSamples) {
  EXPECT_EQ(kRates.steps_per_epoch(), 3);
  EXPECT_EQ(kRates.position(0, 0, 1), 0);
  EXPECT_EQ(kRates.position(0, 16, 1), 2);
  EXPECT_EQ(kRates.position(0, 12, 1), 1) << "of smaller steps, several are at one position";
  EXPECT_EQ(kRates.position(1, 0, 1), 3);
  EXPECT_EQ(kRates.position(0, 8, 2), 2) << "each sample is learnt from twice";
}

TEST(LearningRates, OfTheWholeJobEndWhereTheScheduleEnds) {
  const learn::Schedule cosine = schedule("cosine");
  EXPECT_FLOAT_EQ(kRates.rate(cosine, 0), 1);
  EXPECT_FLOAT_EQ(kRates.rate(cosine, 3), 0.5F) << "half way";
  EXPECT_LT(kRates.rate(cosine, 5), 0.1F);
}

TEST(LearningRates, StepsOfAWorkersOwnComeForwardWithTheJob) {
  const learn::Schedule cosine = schedule("cosine");
  const std::vector<float> as_job = kRates.local_rates(cosine, 1, 3, 3);
  ASSERT_EQ(as_job.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(as_job[static_cast<std::size_t>(i)], kRates.rate(cosine, 1 + i));
  const std::vector<float> twice = kRates.local_rates(cosine, 1, 4, 2);  // of more samples than the others
  ASSERT_EQ(twice.size(), 4u);
  EXPECT_EQ(twice[0], twice[1]);
  EXPECT_FLOAT_EQ(twice[3], kRates.rate(cosine, 2));
}

TEST(LearningRates, BehindTheLastStepTheyAreThatOfTheLastStep) {
  const learn::Schedule cosine = schedule("cosine");
  const std::vector<float> rates = kRates.local_rates(cosine, 5, 3, 3);
  EXPECT_EQ(rates, std::vector<float>(3, kRates.rate(cosine, 5)));
}

}  // namespace
}  // namespace mangrove::train
