#include "mangrove/infer/tier_dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace mangrove::infer {
namespace {

constexpr Seconds kPoll = 0.2;     // how often a leader looks, whatever comes
constexpr Seconds kDetection = 3;  // from a device's death until its loss is known

struct Emulated {
  Tier tier = Tier::end;
  Seconds service = 1;
  Seconds delay = 0;
  int dies_after = -1;  // so many tasks; -1: never
};

/// Devices that do what a TierDispatch orders, in virtual time.
class World {
 public:
  World(std::size_t batches, std::vector<Emulated> devices, TierDispatch::Options options)
      : dispatch_(batches, as_measured(devices), options), scheduler_(options.scheduler), devices_(devices.size()) {
    for (std::size_t i = 0; i < devices.size(); ++i) devices_[i].like = devices[i];
  }

  /// Returns the completion time. Which order is lost on its way, by number.
  Seconds run(const std::function<bool(int)>& is_lost = [](int) { return false; }) {
    is_lost_ = is_lost;
    at(0, [] {});
    for (int polls = 1; !dispatch_.done() && now_ < 1e5; ++polls) {
      at(polls * kPoll, [] {});
      while (!events_.empty() && events_.begin()->first <= polls * kPoll && !dispatch_.done()) {
        now_ = events_.begin()->first;
        const auto event = events_.begin()->second;
        events_.erase(events_.begin());
        event();
        for (const TierDispatch::Order& order : dispatch_.next({now_})) follow(order);
      }
    }
    EXPECT_TRUE(dispatch_.done());
    return last_answer_;
  }

  /// Switches to the next of these schedulers, over and over, with each `every`-th answer.
  void switch_among(std::vector<const char*> schedulers, int every) {
    turns_ = std::move(schedulers);
    every_ = every;
  }

  const TierDispatch& dispatch() const { return dispatch_; }
  /// In charge at the end.
  const Scheduler& scheduler() const { return *scheduler_; }
  /// By which device each task was answered first.
  const std::map<TierTask, net::Rank>& answers() const { return answers_; }
  std::size_t answers_of(Tier tier) const {
    return static_cast<std::size_t>(std::ranges::count_if(answers_, [&](const auto& entry) {
      return entry.first.answer == Answer::second &&
             devices_[static_cast<std::size_t>(entry.second) - 1].like.tier == tier;
    }));
  }

 private:
  struct Device {
    Emulated like;
    std::deque<std::pair<TierTask, Seconds>> queue;  // and when it is there
    bool busy = false, dead = false;
    int done = 0;
  };

  static std::vector<TierDispatch::Device> as_measured(const std::vector<Emulated>& devices) {
    std::vector<TierDispatch::Device> all;
    for (const Emulated& device : devices)
      all.push_back({static_cast<net::Rank>(all.size() + 1), device.tier, device.service, device.delay});
    return all;
  }

  void at(Seconds when, std::function<void()> event) { events_.emplace(when, std::move(event)); }

  void follow(const TierDispatch::Order& order) {
    if (order.kind == TierDispatch::Order::Kind::run) dispatch_.sent(order.rank, order.task, {now_});
    Device& device = devices_[static_cast<std::size_t>(order.rank) - 1];
    if (is_lost_(orders_++) || device.dead) return;
    if (order.kind == TierDispatch::Order::Kind::drop) {
      std::erase_if(device.queue, [&](const auto& entry) { return entry.first == order.task; });
      return;
    }
    device.queue.emplace_back(order.task, now_ + device.like.delay);
    at(now_ + device.like.delay, [this, &device] { begin(device); });
  }

  void begin(Device& device) {
    if (device.busy || device.dead || device.queue.empty() || device.queue.front().second > now_ + 1e-9) return;
    const TierTask task = device.queue.front().first;
    device.queue.pop_front();
    device.busy = true;
    at(now_ + device.like.service, [this, &device, task] { finish(device, task); });
  }

  void finish(Device& device, const TierTask& task) {
    device.busy = false;
    const auto rank = static_cast<net::Rank>(&device - devices_.data()) + 1;
    if (dispatch_.answer(rank, task, device.like.service, device.like.delay, {now_})) {
      EXPECT_TRUE(answers_.emplace(task, rank).second) << "answered twice";
      last_answer_ = now_;
      take_turns();
    }
    if (++device.done == device.like.dies_after) {
      device.dead = true;
      at(now_ + kDetection, [this, rank] { dispatch_.lose(rank); });
    }
    begin(device);
  }

  void take_turns() {
    const auto answers = static_cast<int>(answers_.size());
    if (turns_.empty() || answers % every_ != 0) return;
    scheduler_ = *find_scheduler(turns_[static_cast<std::size_t>(answers / every_ - 1) % turns_.size()]);
    dispatch_.switch_to(*scheduler_);
  }

  TierDispatch dispatch_;
  const Scheduler* scheduler_;
  std::vector<const char*> turns_;
  int every_ = 1;
  std::vector<Device> devices_;
  std::multimap<Seconds, std::function<void()>> events_;
  std::function<bool(int)> is_lost_;
  int orders_ = 0;
  Seconds now_ = 0, last_answer_ = 0;
  std::map<TierTask, net::Rank> answers_;
};

TierDispatch::Options options(const char* scheduler, const char* policy = "monitor") {
  return {.scheduler = *find_scheduler(scheduler), .policy = *find_fault_policy(policy), .goal = {}};
}

std::vector<Emulated> tiers(std::size_t end, std::size_t edge, std::size_t cloud, Seconds end_s = 1, Seconds edge_s = 1,
                            Seconds cloud_s = 0.5) {
  std::vector<Emulated> devices(end, {.tier = Tier::end, .service = end_s});
  devices.insert(devices.end(), edge, {.tier = Tier::edge, .service = edge_s, .delay = 0.5});
  devices.insert(devices.end(), cloud, {.tier = Tier::cloud, .service = cloud_s, .delay = 1});
  return devices;
}

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
      World run(200, devices, options(scheduler.name.data()));
      const Seconds predicted = scheduler.predict(costs(200, devices));
      EXPECT_NEAR(run.run() / predicted, 1, 0.03) << scheduler.name << ", world " << world;
      EXPECT_EQ(run.answers().size(), scheduler.gives_second ? 400u : 200u);
      EXPECT_EQ(run.dispatch().counts().repeated, 0u);
    }
  }
}

TEST(Schedulers, AutoIsAsGoodAsTheBestOfThoseThatGiveSecondAnswers) {
  for (std::size_t world = 0; world < worlds().size(); ++world) {
    Seconds best = 1e9;
    for (const char* name : {"end-cloud", "end-edge", "mapping"})
      best = std::min(best, World(200, worlds()[world], options(name)).run());
    EXPECT_LE(World(200, worlds()[world], options("auto")).run(), 1.02 * best) << "world " << world;
  }
}

TEST(Schedulers, MappingGivesTheEdgeItsShare) {
  // N_map = ceil((3 + 0.5) / 1) = 4 end devices for the edge server; 4 of 8 have the cloud
  World run(80, tiers(8, 1, 1, 1, 3), options("mapping"));
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
    World run(100, tiers(8, 4, 1, 0.1, 0.2, 1), goal);
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
    World run(100, tiers(8, 4, 1, 0.1, 1, 1), goal);  // the cloud alone: 101 s; the edge: 4 tasks a second
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
  EXPECT_LE(World(200, far, options("end-cloud")).run(), 1.02 * (1 + 200 * 0.1)) << "one after the other: 220 s";
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
    EXPECT_LE(World(200, failing(dead), options("end", "hedged")).run(), 1.10 * bound) << dead;
    EXPECT_LE(World(200, failing(dead), options("end", "monitor")).run(), 1.25 * bound) << dead;
  }
}

TEST(FaultPolicies, HedgedDoesNotWaitForTheDetector) {
  const std::vector<Emulated> devices = failing(6);
  const Seconds monitor = World(104, devices, options("end", "monitor")).run();
  const Seconds hedged = World(104, devices, options("end", "hedged")).run();
  EXPECT_LT(hedged, monitor);
}

TEST(FaultPolicies, HedgedTakesWorkFromAStraggler) {
  std::vector<Emulated> devices(4);
  TierDispatch::Options hedged = options("end", "hedged"), monitor = options("end", "monitor");
  devices[0].service = 15;
  World helped(40, devices, hedged), alone(40, devices, monitor);
  EXPECT_LT(helped.run(), alone.run() - 5);
  EXPECT_GT(helped.dispatch().counts().stolen + helped.dispatch().counts().copied, 0u);
}

TEST(FaultPolicies, AnswerEveryTaskButForNone) {
  for (const FaultPolicy& policy : fault_policies()) {
    for (const char* scheduler : {"end", "end-edge", "end-cloud", "mapping", "auto"}) {
      std::vector<Emulated> devices = tiers(4, 3, 2);
      for (const std::size_t dying : {0u, 2u, 4u, 7u}) devices[dying].dies_after = static_cast<int>(dying) + 1;
      World run(60, devices, options(scheduler, policy.name.data()));
      run.run();
      const std::size_t tasks = std::string_view(scheduler) == "end" ? 60 : 120;
      const TierDispatch::Counts& counts = run.dispatch().counts();
      EXPECT_EQ(counts.answered, run.answers().size());
      EXPECT_EQ(counts.answered + counts.lost, tasks) << policy.name << ", " << scheduler;
      if (policy.gives_up) {
        EXPECT_GT(counts.lost, 0u) << scheduler;
      } else {
        EXPECT_EQ(counts.lost, 0u) << policy.name << ", " << scheduler;
      }
    }
  }
}

TEST(FaultPolicies, AWholeTierThatDiesIsReplacedByTheOthers) {
  std::vector<Emulated> devices = tiers(2, 1, 1);
  devices[0].dies_after = devices[1].dies_after = devices[3].dies_after = 3;
  for (const char* policy : {"monitor", "hedged"}) {
    World run(30, devices, options("end-cloud", policy));
    run.run();
    EXPECT_EQ(run.answers().size(), 60u) << policy;
  }
}

TEST(FaultPolicies, LostOrdersAreGivenAgain) {
  for (const FaultPolicy& policy : fault_policies()) {
    TierDispatch::Options some = options("auto", policy.name.data());
    some.timeout = 5;
    World run(20, tiers(2, 2, 1), some);
    run.run([](int order) { return order % 7 == 3; });
    EXPECT_EQ(run.dispatch().counts().lost > 0, policy.gives_up) << policy.name;
    EXPECT_EQ(run.answers().size() + run.dispatch().counts().lost, 40u) << policy.name;
  }
}

/// All that was asked for was answered, once (World sees to that), and every first answer was asked for.
void expect_nothing_dropped(const World& run, std::size_t batches, const std::string& where) {
  const TierDispatch::Counts& counts = run.dispatch().counts();
  EXPECT_EQ(counts.lost, 0u) << where;
  EXPECT_EQ(counts.answered, run.dispatch().asked()) << where;
  EXPECT_EQ(run.answers().size(), run.dispatch().asked()) << where;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    EXPECT_TRUE(run.answers().contains({Answer::first, batch})) << where << ", batch " << batch;
    const bool is_asked = run.scheduler().gives_second || run.dispatch().is_asked({Answer::second, batch});
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
        World run(60, devices, options("auto", policy));
        run.switch_among(all, every);
        run.run([&](int order) { return dying && order % 11 == 7; });
        expect_nothing_dropped(run, 60, policy + (", every " + std::to_string(every)) + (dying ? ", dying" : ""));
      }
    }
  }
}

TEST(Switching, ToEndAsksForNoMoreSecondAnswersThanAreUnderWay) {
  for (const int when : {10, 25, 40}) {
    World run(60, tiers(4, 1, 1, 1, 1, 2), options("end-cloud"));
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
  World run(60, tiers(4, 2, 1), options("end"));
  run.switch_among({"end-edge"}, 30);
  run.run();
  EXPECT_EQ(run.answers_of(Tier::edge), 60u) << "those too whose first answer was there before";
}

TEST(Switching, FromEdgeToCloudLeavesTheEdgeWhatItHas) {
  World run(60, tiers(4, 1, 1, 0.1, 5), options("end-edge"));
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
