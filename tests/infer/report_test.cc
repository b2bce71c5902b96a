#include "mangrove/infer/report.h"

#include <gtest/gtest.h>

#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/tiers/report.h"
#include "mangrove/infer/views/report.h"

namespace mangrove::infer {
namespace {

TEST(InferenceEvents, SayWhatHappenedInOneSentence) {
  EXPECT_EQ((NodeLeftOut{"a", "no room"}.sentence()), "a will get no work: no room");
  EXPECT_EQ((Redone{"single", "a"}.sentence()), "single was begun anew without a");
  EXPECT_EQ((job::StageMoved{1, "a", "b"}.sentence()), "stage 2 moved from a to b");
  EXPECT_EQ((Replanned{{{0, "a", 3}, {1, "b", 4}}}.sentence()),
            "the stages of a lost node go on elsewhere: stage 1 on a, stage 2 on b");
  EXPECT_EQ((Revised{{{0, "a", 3}}}.sentence()), "speeds have changed; the new plan: stage 1 on a");
  EXPECT_EQ((Quarantined{"a", 14, 9, 23, 0}.sentence()),
            "a answers wrongly (9 of 14 checks) and is quarantined; 23 of its micro-batches are done again");
  EXPECT_EQ(
      (Quarantined{"a", 14, 9, 0, 20}.sentence()),
      "a answers wrongly (9 of 14 checks) and is quarantined; 0 of its micro-batches are done again, 20 were told "
      "already");
  EXPECT_EQ(
      (Isolated{Isolated::kWrongAnswers, {{0, "a", 3}, {0, "b", 3}}}.sentence()),
      "some answers are wrong; to find out whose, each board computes the whole network: stage 1 on a, stage 1 on "
      "b");
  EXPECT_EQ((Isolated{Isolated::kNothingToCompare, {{0, "a", 3}}}.sentence()),
            "answers of a stage could not be compared; each board computes the whole network: stage 1 on a");
  EXPECT_EQ((SchedulerSwitched{"mapping", "greedy", 2.5}.sentence()),
            "scheduler greedy in place of mapping after 2.5 s");
  EXPECT_EQ((ViewLost{2, "cam", "silent"}.sentence()), "view 2 of cam is lost: silent");
}

TEST(Latency, HasPercentiles) {
  std::vector<Seconds> latencies;
  for (int i = 100; i > 0; --i) latencies.push_back(i);
  const Latency latency(latencies);
  EXPECT_EQ(latency.p50, 50);
  EXPECT_EQ(latency.p95, 95);
  EXPECT_EQ(latency.p99, 99);
  EXPECT_EQ(Latency(std::vector<Seconds>()).p99, 0);
}

}  // namespace
}  // namespace mangrove::infer
