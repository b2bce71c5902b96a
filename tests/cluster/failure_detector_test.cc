#include "mangrove/cluster/failure_detector.h"

#include <gtest/gtest.h>

namespace mangrove::cluster {
namespace {

using Ids = std::vector<MemberId>;

TEST(FailureDetector, LosesWhoIsSilentForLongerThanTheLimit) {
  FailureDetector detector(0.5, 6);
  detector.heard_from(1, {10});
  detector.heard_from(2, {10});
  EXPECT_EQ(detector.lost({11}), Ids{});
  detector.heard_from(2, {12});
  EXPECT_EQ(detector.lost({12}), Ids{});
  EXPECT_EQ(detector.lost({13}), Ids{}) << "3 s of silence are allowed";
  EXPECT_EQ(detector.lost({13.01}), Ids{1});
  EXPECT_EQ(detector.lost({14}), Ids{}) << "a loss is told once";
  EXPECT_EQ(detector.lost({15}), Ids{});
  EXPECT_EQ(detector.lost({15.5}), Ids{2});
}

TEST(FailureDetector, ForgetsWhoLeft) {
  FailureDetector detector(0.5, 2);
  detector.heard_from(1, {0});
  detector.forget(1);
  EXPECT_EQ(detector.lost({100}), Ids{});
}

TEST(FailureDetector, ItsOwnPauseIsNobodysSilence) {
  FailureDetector detector(0.5, 6);
  detector.heard_from(1, {0});
  EXPECT_EQ(detector.lost({0.5}), Ids{});
  EXPECT_EQ(detector.lost({100}), Ids{}) << "nobody could be heard in between";
  EXPECT_EQ(detector.lost({101}), Ids{});
  EXPECT_EQ(detector.lost({102}), Ids{});
  EXPECT_EQ(detector.lost({103}), Ids{1}) << "0.5 s before the pause and 3 s after it";
}

TEST(FailureDetector, SuspectsMoreTheLongerTheSilence) {
  FailureDetector detector(0.5, 6);
  detector.heard_from(1, {10});
  EXPECT_DOUBLE_EQ(detector.suspicion(1, {10}), 0);
  EXPECT_DOUBLE_EQ(detector.suspicion(1, {10.25}), 0.5);
  EXPECT_DOUBLE_EQ(detector.suspicion(1, {12}), 4);
  detector.heard_from(1, {12});
  EXPECT_DOUBLE_EQ(detector.suspicion(1, {12.5}), 1);
  EXPECT_DOUBLE_EQ(detector.suspicion(2, {12.5}), 0) << "not known";
}

}  // namespace
}  // namespace mangrove::cluster
