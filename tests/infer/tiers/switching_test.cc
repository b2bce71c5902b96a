// Another scheduler takes over while tasks are under way.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/infer/tiers/dispatch_world.h"

namespace mangrove::infer {
namespace {

using testing::DispatchWorld;
using testing::Emulated;
using testing::options;
using testing::tiers;

/// All that was asked for was answered, once (DispatchWorld sees to that), and every first answer was asked for.
void expect_nothing_dropped(const DispatchWorld& run, std::size_t batches, const std::string& where) {
  const TierDispatch::Counts& counts = run.dispatch().counts();
  EXPECT_EQ(counts.lost, 0u) << where;
  EXPECT_EQ(counts.answered, run.dispatch().asked()) << where;
  EXPECT_EQ(run.answers().size(), run.dispatch().asked()) << where;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    EXPECT_TRUE(run.answers().contains({Answer::first, batch})) << where << ", batch " << batch;
    const bool is_asked = run.scheduler().asks_for(Answer::second) || run.dispatch().is_asked({Answer::second, batch});
    EXPECT_EQ(run.answers().contains({Answer::second, batch}), is_asked) << where << ", batch " << batch;
  }
}

TEST(Switching, AtEveryKthAnswerDropsAndRepeatsNothing) {
  const std::vector<const char*> all = {"end-cloud", "end", "mapping", "end-edge", "auto"};
  for (const char* policy : {"reassign", "monitor", "hedged"}) {
    for (int every = 1; every <= 60; every += every < 10 ? 1 : 7) {
      for (const bool dying : {false, true}) {
        std::vector<Emulated> devices = tiers(4, 3, 2);
        if (dying)
          for (const std::size_t device : {0u, 2u, 4u, 7u}) devices[device].dies_after = static_cast<int>(device) + 1;
        DispatchWorld run(60, devices, options("auto", policy));
        run.switch_among(all, every);
        run.run([&](int order) { return dying && order % 11 == 7; });
        expect_nothing_dropped(run, 60, policy + (", every " + std::to_string(every)) + (dying ? ", dying" : ""));
      }
    }
  }
}

TEST(Switching, ToEndAsksForNoMoreSecondAnswersThanAreUnderWay) {
  for (const int when : {10, 25, 40}) {
    DispatchWorld run(60, tiers(4, 1, 1, 1, 1, 2), options("end-cloud"));
    run.switch_among({"end"}, when);
    const Seconds time = run.run();
    EXPECT_LT(run.answers_of(Tier::cloud), static_cast<std::size_t>(when)) << when;
    EXPECT_GT(run.answers_of(Tier::cloud), 0u);
    EXPECT_EQ(run.answers_of(Tier::cloud) + 60, run.answers().size()) << "and the end devices give none";
    EXPECT_LT(time, 20) << "the cloud alone takes 2 minutes";
    expect_nothing_dropped(run, 60, std::to_string(when));
  }
}

TEST(Switching, FromEndGivesAllBatchesTheirSecondAnswers) {
  DispatchWorld run(60, tiers(4, 2, 1), options("end"));
  run.switch_among({"end-edge"}, 30);
  run.run();
  EXPECT_EQ(run.answers_of(Tier::edge), 60u) << "those too whose first answer was there before";
}

TEST(Switching, FromEdgeToCloudLeavesTheEdgeWhatItHas) {
  DispatchWorld run(60, tiers(4, 1, 1, 0.1, 5), options("end-edge"));
  run.switch_among({"end-cloud"}, 40);
  EXPECT_LT(run.run(), 45) << "the edge alone takes 5 minutes";
  EXPECT_EQ(run.answers_of(Tier::edge), 3u) << "as many as it has at once";
  EXPECT_EQ(run.answers_of(Tier::cloud), 57u);
}

TEST(Switching, ALateAnswerThatNobodyAsksForAnyMoreCountsOnce) {
  TierDispatch::Options some = options("end-cloud");
  some.timeout = 5;
  TierDispatch dispatch(1, {{1, Tier::end, 1, 0}, {2, Tier::cloud, 1, 0}}, some);
  for (const TierDispatch::Order& order : dispatch.next({0})) dispatch.sent(order.rank, order.task, {0});
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 0}, 1, 0, {1}));
  dispatch.switch_to(kEndScheduler);
  EXPECT_TRUE(dispatch.next({2}).empty());
  EXPECT_FALSE(dispatch.done()) << "the cloud is at it";
  EXPECT_TRUE(dispatch.next({10}).empty()) << "overdue, and not given out again";
  EXPECT_TRUE(dispatch.done());
  EXPECT_FALSE(dispatch.is_asked({Answer::second, 0}));
  EXPECT_TRUE(dispatch.answer(2, {Answer::second, 0}, 1, 0, {11}));
  EXPECT_TRUE(dispatch.done());
  EXPECT_EQ(dispatch.asked(), 2u);
  EXPECT_EQ(dispatch.counts().answered, 2u);
}

TEST(Switching, TheDeadlineHoldsForTheTiersOfTheNewScheduler) {
  TierDispatch::Options goal = options("auto");
  goal.accuracy = {0.5, 0.7, 0.8};
  goal.goal.deadline = Instant{20};
  DispatchWorld run(100, tiers(8, 4, 1, 0.1, 0.1, 2), goal);  // the edge could do all of them at any time
  run.switch_among({"end-cloud"}, 10);
  EXPECT_LE(run.run(), 20 + 2 * 3) << "what the cloud was given by the deadline";
  EXPECT_GT(run.dispatch().counts().skipped, 0u);
  EXPECT_EQ(run.dispatch().counts().answered + run.dispatch().counts().skipped, 200u);
}

}  // namespace
}  // namespace mangrove::infer
