#include "mangrove/cluster/admission.h"

#include <gtest/gtest.h>

#include <limits>

namespace mangrove::cluster {
namespace {

JobSpec training(int nodes, Seconds timeout = 5) {
  JobSpec job;
  job.mutable_train();
  job.set_nodes(nodes);
  job.set_nodes_timeout_s(timeout);
  return job;
}

std::vector<Member> alive(std::size_t count) {
  return std::vector<Member>(count);
}

constexpr std::nullopt_t kNew = std::nullopt;

TEST(Admission, BeginsWithAsManyNodesAsTheJobAsksFor) {
  Admission admission(training(2), kNew, {100});
  EXPECT_TRUE(admission.first(alive(1), 1, {100})->empty()) << "it waits";
  EXPECT_EQ(admission.first(alive(3), 3, {101})->size(), 2u);
  const auto late = admission.first(alive(1), 1, {105});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.code(), Code::deadline_exceeded);
  EXPECT_EQ(late.error().message, "2 nodes asked for, 1 joined within 5.0 s");
}

TEST(Admission, WaitsWithoutALimitForNodesThatOthersHave) {
  Admission admission(training(2), kNew, {100});
  EXPECT_TRUE(admission.first(alive(1), 2, {104})->empty());
  EXPECT_TRUE(admission.first({}, 3, {1'000'000})->empty());
  EXPECT_TRUE(admission.first({}, 1, {1'000'004})->empty()) << "a node is lost: now the timeout runs";
  EXPECT_EQ(admission.first({}, 1, {1'000'005}).code(), Code::deadline_exceeded);
  EXPECT_TRUE(Admission(training(0), kNew, {0}).first({}, 1, {1'000'000})->empty());
}

TEST(Admission, WithoutANumberTakesWhatThereIsAndWaitsForTheFirst) {
  Admission admission(training(0), kNew, {0});
  EXPECT_TRUE(admission.first({}, 0, {4})->empty()) << "it waits";
  EXPECT_EQ(admission.first(alive(3), 3, {4})->size(), 3u);
  const auto late = admission.first({}, 0, {5});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.code(), Code::failed_precondition);
  EXPECT_EQ(late.error().message, "no nodes have joined within 5.0 s");
}

TEST(Admission, AfterARestartWaitsAWhileForTheNodesThatItHad) {
  Admission admission(training(0), 3, {0});
  EXPECT_TRUE(admission.first(alive(2), 2, {14})->empty());
  EXPECT_EQ(admission.first(alive(3), 3, {1})->size(), 3u);
  EXPECT_EQ(admission.first(alive(1), 1, {15})->size(), 1u);
  EXPECT_TRUE(admission.first({}, 0, {1000})->empty()) << "it waits for ever for the first";
}

TEST(Admission, TakesNewcomersWhileItHasFewerNodesThanItAsksFor) {
  EXPECT_EQ(Admission(training(3), kNew, {0}).room(1), 2u);
  EXPECT_EQ(Admission(training(3), kNew, {0}).room(3), 0u);
  EXPECT_GT(Admission(training(0), kNew, {0}).room(1000), 1000u);
  JobSpec inference;
  inference.mutable_infer();
  EXPECT_EQ(Admission(inference, kNew, {0}).room(1), 0u) << "it is planned for the nodes that there are";
}

TEST(Admission, RefusesNumbersThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Admission(training(2), kNew, {0}).check().ok());
  for (const JobSpec& odd : {training(-1), training(1'000'001), training(2, -1), training(2, nan), training(2, 1e300)})
    EXPECT_EQ(Admission(odd, kNew, {0}).check().code(), Code::invalid_argument) << odd.ShortDebugString();
}

}  // namespace
}  // namespace mangrove::cluster
