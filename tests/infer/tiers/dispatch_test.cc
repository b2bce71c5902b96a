#include "mangrove/infer/tiers/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/infer/tiers/dispatch_world.h"

namespace mangrove::infer {
namespace {

using testing::DispatchWorld;
using testing::Emulated;
using testing::options;
using testing::tiers;

TierCosts costs(std::size_t batches, const std::vector<Emulated>& devices) {
  TierCosts costs{.batches = batches, .tiers = {}};
  for (const Emulated& device : devices) {
    TierCosts::Of& of = costs.tiers[static_cast<std::size_t>(device.tier)];
    of = {of.devices + 1, device.service, device.delay};
  }
  return costs;
}

/// Worlds of very different speeds.
std::vector<std::vector<Emulated>> worlds() {
  return {tiers(8, 4, 1),
          tiers(4, 2, 1, 0.2, 2, 0.1),
          tiers(8, 4, 1, 1, 1, 8),
          tiers(1, 1, 1, 0.1, 0.1, 0.1),
          tiers(3, 5, 2, 2, 0.3, 3),
          tiers(8, 2, 1, 0.3, 3, 0.5),
          tiers(2, 1, 1, 5, 0.7, 0.05)};
}

TEST(Schedulers, FinishAsPredicted) {
  for (std::size_t world = 0; world < worlds().size(); ++world) {
    for (const Scheduler& scheduler : schedulers()) {
      const std::vector<Emulated> devices = worlds()[world];
      DispatchWorld run(200, devices, options(scheduler.name.data()));
      const Seconds predicted = scheduler.predict(costs(200, devices));
      EXPECT_NEAR(run.run() / predicted, 1, 0.03) << scheduler.name << ", world " << world;
      EXPECT_EQ(run.answers().size(), scheduler.asks_for(Answer::second) ? 400u : 200u);
      EXPECT_EQ(run.dispatch().counts().repeated, 0u);
    }
  }
}

TEST(Schedulers, AutoIsAsGoodAsTheBestOfThoseThatGiveSecondAnswers) {
  for (std::size_t world = 0; world < worlds().size(); ++world) {
    Seconds best = 1e9;
    for (const char* name : {"end-cloud", "end-edge", "mapping"})
      best = std::min(best, DispatchWorld(200, worlds()[world], options(name)).run());
    EXPECT_LE(DispatchWorld(200, worlds()[world], options("auto")).run(), 1.02 * best) << "world " << world;
  }
}

TEST(Schedulers, MappingGivesTheEdgeItsShare) {
  // N_map = ceil((3 + 0.5) / 1) = 4 end devices for the edge server; 4 of 8 have the cloud
  DispatchWorld run(80, tiers(8, 1, 1, 1, 3), options("mapping"));
  run.run();
  EXPECT_EQ(run.answers_of(Tier::edge), 40u);
  for (const auto& [task, rank] : run.answers()) {
    if (task.answer == Answer::second) {
      EXPECT_EQ(rank == 9, task.batch % 8 < 4) << task.batch;
    }
  }
}

TEST(Schedulers, AutoKeepsTheAccuracyFloor) {
  for (const double floor : {0.72, 0.75, 0.8}) {
    TierDispatch::Options goal = options("auto");
    goal.accuracy = {0.5, 0.7, 0.8};
    goal.goal.accuracy_floor = floor;
    DispatchWorld run(100, tiers(8, 4, 1, 0.1, 0.2, 1), goal);
    run.run();
    const auto edge = static_cast<double>(run.answers_of(Tier::edge));
    EXPECT_GE((edge * 0.7 + (100 - edge) * 0.8) / 100, floor - 1e-9);
    EXPECT_EQ(edge, std::floor((0.8 - floor) * 1000 + 1e-6)) << "no more of the slow tier than needed";
  }
}

TEST(Schedulers, AutoIsAsAccurateAsTheDeadlineAllows) {
  for (const Seconds deadline : {200.0, 41.0, 11.0}) {
    TierDispatch::Options goal = options("auto");
    goal.accuracy = {0.5, 0.7, 0.8};
    goal.goal.deadline = Instant{deadline};
    DispatchWorld run(100, tiers(8, 4, 1, 0.1, 1, 1), goal);  // the cloud alone: 101 s; the edge: 4 tasks a second
    EXPECT_LE(run.run(), deadline);
    const std::size_t cloud = run.answers_of(Tier::cloud), edge = run.answers_of(Tier::edge);
    EXPECT_EQ(cloud, std::min<std::size_t>(100, static_cast<std::size_t>(deadline) - 1));
    EXPECT_EQ(edge, std::min<std::size_t>(100 - cloud, 4 * static_cast<std::size_t>(deadline - 0.5)));
    EXPECT_EQ(run.dispatch().counts().skipped, 100 - cloud - edge);
  }
}

TEST(Schedulers, HideTheDelayOfAFarDevice) {
  const std::vector<Emulated> far = {{.tier = Tier::end, .service = 0.01},
                                     {.tier = Tier::cloud, .service = 0.1, .delay = 1}};
  EXPECT_LE(DispatchWorld(200, far, options("end-cloud")).run(), 1.02 * (1 + 200 * 0.1))
      << "one after the other: 220 s";
}

/// Eight end devices of which so many die after 12 tasks.
std::vector<Emulated> failing(int dead) {
  std::vector<Emulated> devices(8);
  for (int i = 0; i < dead; ++i) devices[static_cast<std::size_t>(i)].dies_after = 12;
  return devices;
}

/// No way of giving them out is faster: all devices work all the time while they live.
Seconds lower_bound(std::size_t batches, const std::vector<Emulated>& devices) {
  for (Seconds time = 0;; time += 1) {
    std::size_t done = 0;
    for (const Emulated& device : devices) {
      const auto tasks = static_cast<std::size_t>(time / device.service);
      done += device.dies_after < 0 ? tasks : std::min(tasks, static_cast<std::size_t>(device.dies_after));
    }
    if (done >= batches) return time;
  }
}

TEST(FaultPolicies, AreCloseToTheLowerBoundWhileDevicesDie) {
  for (const int dead : {0, 1, 3, 6}) {
    const Seconds bound = lower_bound(200, failing(dead));
    EXPECT_LE(DispatchWorld(200, failing(dead), options("end", "hedged")).run(), 1.10 * bound) << dead;
    EXPECT_LE(DispatchWorld(200, failing(dead), options("end", "monitor")).run(), 1.25 * bound) << dead;
  }
}

TEST(FaultPolicies, HedgedDoesNotWaitForTheDetector) {
  const std::vector<Emulated> devices = failing(6);
  const Seconds monitor = DispatchWorld(104, devices, options("end", "monitor")).run();
  const Seconds hedged = DispatchWorld(104, devices, options("end", "hedged")).run();
  EXPECT_LT(hedged, monitor);
}

TEST(FaultPolicies, HedgedTakesWorkFromAStraggler) {
  std::vector<Emulated> devices(4);
  TierDispatch::Options hedged = options("end", "hedged"), monitor = options("end", "monitor");
  devices[0].service = 15;
  DispatchWorld helped(40, devices, hedged), alone(40, devices, monitor);
  EXPECT_LT(helped.run(), alone.run() - 5);
  EXPECT_GT(helped.dispatch().counts().stolen + helped.dispatch().counts().copied, 0u);
}

TEST(FaultPolicies, AnswerEveryTaskButForNone) {
  for (const FaultPolicy& policy : fault_policies()) {
    for (const Scheduler& scheduler : schedulers()) {
      std::vector<Emulated> devices = tiers(4, 3, 2);
      for (const std::size_t dying : {0u, 2u, 4u, 7u}) devices[dying].dies_after = static_cast<int>(dying) + 1;
      DispatchWorld run(60, devices, options(scheduler.name.data(), policy.name.data()));
      run.run();
      const std::size_t tasks = scheduler.asks_for(Answer::second) ? 120 : 60;
      const TierDispatch::Counts& counts = run.dispatch().counts();
      EXPECT_EQ(counts.answered, run.answers().size());
      EXPECT_EQ(counts.answered + counts.lost, tasks) << policy.name << ", " << scheduler.name;
      if (policy.gives_up) {
        EXPECT_GT(counts.lost, 0u) << scheduler.name;
      } else {
        EXPECT_EQ(counts.lost, 0u) << policy.name << ", " << scheduler.name;
      }
    }
  }
}

TEST(FaultPolicies, AWholeTierThatDiesIsReplacedByTheOthers) {
  std::vector<Emulated> devices = tiers(2, 1, 1);
  devices[0].dies_after = devices[1].dies_after = devices[3].dies_after = 3;
  for (const char* policy : {"monitor", "hedged"}) {
    DispatchWorld run(30, devices, options("end-cloud", policy));
    run.run();
    EXPECT_EQ(run.answers().size(), 60u) << policy;
  }
}

TEST(FaultPolicies, LostOrdersAreGivenAgain) {
  for (const FaultPolicy& policy : fault_policies()) {
    TierDispatch::Options some = options("auto", policy.name.data());
    some.timeout = 5;
    DispatchWorld run(20, tiers(2, 2, 1), some);
    run.run([](int order) { return order % 7 == 3; });
    EXPECT_EQ(run.dispatch().counts().lost > 0, policy.gives_up) << policy.name;
    EXPECT_EQ(run.answers().size() + run.dispatch().counts().lost, 40u) << policy.name;
  }
}

TEST(TierDispatch, CountsRepeatedAndUnaskedAnswersForNothing) {
  TierDispatch dispatch(2, {{1, Tier::end, 1, 0}}, options("end"));
  EXPECT_FALSE(dispatch.answer(1, {Answer::first, 0}, 1, 0, {0})) << "nobody has been asked yet";
  EXPECT_EQ(dispatch.next({0}).size(), 2u);
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 0}, 1, 0, {1}));
  EXPECT_FALSE(dispatch.answer(1, {Answer::first, 0}, 1, 0, {1}));
  EXPECT_FALSE(dispatch.answer(1, {Answer::second, 0}, 1, 0, {1}));
  EXPECT_FALSE(dispatch.answer(1, {Answer::first, 7}, 1, 0, {1}));
  EXPECT_FALSE(dispatch.answer(2, {Answer::first, 1}, 1, 0, {1})) << "a stranger";
  EXPECT_FALSE(dispatch.done());
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 1}, 1, 0, {2}));
  EXPECT_TRUE(dispatch.done());
  EXPECT_EQ(dispatch.counts().repeated, 1u);
}

TEST(TierDispatch, OnDemandOnlyWantedBatchesGetASecondAnswer) {
  TierDispatch::Options some = options("end-edge");
  some.later_on_demand = true;
  TierDispatch dispatch(3, {{1, Tier::end, 1, 0}, {2, Tier::edge, 1, 0}}, some);
  EXPECT_EQ(dispatch.asked(), 3u);
  EXPECT_EQ(dispatch.next({0}).size(), 2u) << "as many as the end device gets at once";
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 0}, 1, 0, {1}));
  dispatch.switch_to(**find_scheduler("auto"));
  EXPECT_EQ(dispatch.asked(), 3u);
  dispatch.want({Answer::second, 1});
  dispatch.want({Answer::second, 1});
  EXPECT_EQ(dispatch.asked(), 4u);
  dispatch.switch_to(**find_scheduler("end"));
  EXPECT_EQ(dispatch.asked(), 3u);
  dispatch.switch_to(**find_scheduler("end-edge"));
  const auto orders = dispatch.next({1});
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(orders, [](const auto& order) {
    return order.rank == 2 && order.task == TierTask{Answer::second, 1};
  }));
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 1}, 1, 0, {2}));
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 2}, 1, 0, {3}));
  EXPECT_FALSE(dispatch.done());
  EXPECT_TRUE(dispatch.answer(2, {Answer::second, 1}, 1, 0, {3}));
  EXPECT_TRUE(dispatch.done());
  EXPECT_FALSE(dispatch.is_asked({Answer::second, 0}));
}

TEST(TierDispatch, WhoCannotGiveFirstAnswersIsGivenNone) {
  for (const char* policy : {"monitor", "hedged", "reassign"}) {
    TierDispatch::Options some = options("end-edge", policy);
    TierDispatch dispatch(1, {{1, Tier::end, 1, 0}, {2, Tier::edge, 1, 0, false}, {3, Tier::edge, 9, 0}}, some);
    dispatch.lose(1);
    for (const TierDispatch::Order& order : dispatch.next({100})) {
      EXPECT_TRUE(order.rank != 2 || order.task.answer == Answer::second) << policy;
    }
  }
}

constexpr TierTask kTask{Answer::first, 0};

TEST(TierDispatch, AnOrderIsNotOverdueBeforeItIsSent) {
  TierDispatch::Options some = options("end");
  some.timeout = 5;
  TierDispatch dispatch(1, {{1, Tier::end, 1, 0.5}}, some);
  ASSERT_EQ(dispatch.next({0}).size(), 1u);
  EXPECT_TRUE(dispatch.is_wanted(1, kTask));
  EXPECT_TRUE(dispatch.next({100}).empty()) << "it waits with the caller";
  dispatch.sent(1, kTask, {100});
  EXPECT_FALSE(dispatch.is_wanted(1, kTask)) << "a second time";
  EXPECT_TRUE(dispatch.next({106.4}).empty());
  EXPECT_EQ(dispatch.next({106.6}).size(), 1u) << "the answer is overdue";
  EXPECT_EQ(dispatch.counts().given_again, 1u);
}

TEST(TierDispatch, AnOrderThatWaitsIsNotWantedWhenItsTaskIsAnswered) {
  TierDispatch::Options some = options("end");
  some.timeout = 5;
  TierDispatch dispatch(1, {{1, Tier::end, 1, 0}, {2, Tier::end, 1, 0}}, some);
  const auto first = dispatch.next({0});
  ASSERT_EQ(first.size(), 1u);
  dispatch.sent(first[0].rank, kTask, {0});
  const auto second = dispatch.next({10});
  ASSERT_EQ(second.size(), 1u);
  ASSERT_NE(second[0].rank, first[0].rank);
  EXPECT_TRUE(dispatch.is_wanted(second[0].rank, kTask));
  EXPECT_TRUE(dispatch.answer(first[0].rank, kTask, 1, 0, {11})) << "late";
  EXPECT_FALSE(dispatch.is_wanted(second[0].rank, kTask));
  EXPECT_TRUE(dispatch.done());
}

TEST(TierDispatch, TheTimeInWhichNobodyListenedIsNoDelay) {
  TierDispatch dispatch(2, {{1, Tier::end, 1, 0.5}}, options("end"));
  const auto delay = [&] { return dispatch.records().front().device.delay; };
  ASSERT_EQ(dispatch.next({0}).size(), 2u);
  EXPECT_TRUE(dispatch.answer(1, kTask, 1, 3, {4}, 2.8));
  EXPECT_DOUBLE_EQ(delay(), 0.5) << "from 0.2 s to 3 s: perhaps as before";
  EXPECT_TRUE(dispatch.answer(1, {Answer::first, 1}, 1, 0.4, {5}, 0.1));
  EXPECT_DOUBLE_EQ(delay(), 0.4) << "from 0.3 s to 0.4 s";
}

TEST(Tables, NameTheNearest) {
  EXPECT_EQ(find_scheduler("end-egde").error().message,
            "scheduler: unknown scheduler 'end-egde'; did you mean 'end-edge'?");
  EXPECT_EQ(find_fault_policy("hedge").error().message, "policy: unknown fault policy 'hedge'; did you mean 'hedged'?");
}

}  // namespace
}  // namespace mangrove::infer
