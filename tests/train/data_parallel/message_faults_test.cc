// One message of a short run is lost, late, there twice or overtaken, or its sender dies with it: whichever it is,
// every sample counts exactly once.
#include <gtest/gtest.h>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

namespace mangrove::train {
namespace {

using Fate = net::InProcessWorld::Fate;

constexpr std::int64_t kMessageFaultSamples = 40;  // of two epochs: four steps
constexpr int kMessageFaultWorkers = 3;

struct EveryStrategy : ::testing::TestWithParam<StrategyCase> {
  const TrainJob job = job_of(GetParam(), kMessageFaultSamples);

  /// Runs the job once for each message that it sends; returns how many those are.
  int disturb_each_message(Fate fate) const {
    for (int k = 0;; k += kMessageStride) {
      RoleWorld world(kMessageFaultWorkers + 1);
      world.use_virtual_time();
      world.cancel_at_end();  // the message may be the one that ends a worker's role
      int sent = 0;           // guarded by the world's lock
      world.world().set_fate([&](net::Rank, net::Rank, net::Tag) { return sent++ == k ? fate : Fate::arrives; });
      const RoleWorld::Outcome outcome = train(job, world);
      if (sent <= k) return k;
      expect_complete(outcome, job, "message " + std::to_string(k));
    }
  }
  int delay_each_message(Seconds by) const {
    for (int k = 0;; k += kMessageStride) {
      RoleWorld world(kMessageFaultWorkers + 1);
      world.use_virtual_time();
      world.cancel_at_end();
      world.network().delay(k, by);
      const RoleWorld::Outcome outcome = train(job, world);
      if (world.network().sent() <= k) return k;
      expect_complete(outcome, job, "message " + std::to_string(k));
    }
  }
};

TEST_P(EveryStrategy, CompletesWithoutAnyLostMessage) {
  EXPECT_GE(disturb_each_message(Fate::is_lost), 20);
}

TEST_P(EveryStrategy, CountsNothingTwiceThatComesTwice) {
  EXPECT_GE(disturb_each_message(Fate::arrives_twice), 20);
}

TEST_P(EveryStrategy, CompletesWithAnyOvertakenMessage) {
  EXPECT_GE(disturb_each_message(Fate::is_overtaken), 20);
}

TEST_P(EveryStrategy, CompletesWithAnyMessageLate) {
  EXPECT_GE(delay_each_message(1.5 * job.step_timeout_s()), 20);
}

TEST_P(EveryStrategy, CompletesWithoutAWorkerThatDiesAtAnyMessage) {
  for (const bool after : {false, true}) {
    int k = 0;
    for (;; k += kMessageStride) {
      RoleWorld world(kMessageFaultWorkers + 1);
      world.use_virtual_time();
      world.die({.rank = 2, .at_send = k, .after = after});
      const RoleWorld::Outcome outcome = train(job, world);
      if (outcome.sent[2] <= k) break;
      expect_complete(outcome, job,
                      "dead " + std::string(after ? "after" : "before") + " message " + std::to_string(k));
    }
    EXPECT_GE(k, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, EveryStrategy, ::testing::ValuesIn(every_strategy()), name_of);

}  // namespace
}  // namespace mangrove::train
