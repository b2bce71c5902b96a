#include "mangrove/train/data_parallel/balance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/train/data_parallel/paced_worker.h"

#include "mangrove/base/mutex.h"
#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

using Shares = Balance::Shares;
using Speeds = Balance::Speeds;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// The shares of a balance that has never seen other speeds.
Shares shares_of(Balance balance, const Speeds& speeds, std::size_t count) {
  balance.observe(speeds, count);
  net::RankSet ranks;
  for (const auto& [rank, speed] : speeds) ranks.push_back(rank);
  return balance.shares(ranks, count);
}

Seconds slowest(const Shares& shares, const Speeds& speeds) {
  Seconds longest = 0;
  for (const auto& [rank, share] : shares) longest = std::max(longest, static_cast<double>(share) / speeds.at(rank));
  return longest;
}

TEST(Balance, SharesFollowSpeeds) {
  EXPECT_EQ(shares_of({8, 256}, {{1, 10.0}, {2, 10.0}, {3, 30.0}}, 64), (Shares{{1, 40}, {2, 40}, {3, 112}}));
  EXPECT_EQ(shares_of({1, kNoLimit}, {{1, 1.0}, {4, 2.0}}, 30), (Shares{{1, 20}, {4, 40}}));
}

TEST(Balance, UnknownSpeedsCountAsTheMean) {
  const Shares expected = shares_of({1, kNoLimit}, {{1, 10.0}, {2, 20.0}, {3, 30.0}}, 24);
  EXPECT_EQ(shares_of({1, kNoLimit}, {{1, 10.0}, {2, 0.0}, {3, 30.0}}, 24), expected);
  EXPECT_EQ(shares_of({8, 256}, {{1, 0.0}, {2, 0.0}}, 64), (Shares{{1, 64}, {2, 64}})) << "nothing is known";
}

TEST(Balance, NobodyGetsMoreThanTheMostNorNothing) {
  EXPECT_EQ(shares_of({8, 128}, {{1, 1.0}, {2, 1.0}, {3, 1e6}}, 64), (Shares{{1, 32}, {2, 32}, {3, 128}}));
  EXPECT_EQ(shares_of({8, kNoLimit}, {{1, 1.0}, {2, 1e6}}, 64), (Shares{{1, 8}, {2, 120}}));
  EXPECT_EQ(shares_of({8, kNoLimit}, {{1, 1.0}, {2, 1e6}}, 3), (Shares{{1, 3}, {2, 3}})) << "less than a unit each";
}

TEST(Balance, NoOtherSharesAreDoneSooner) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t count = 1 + random.below(90), unit = 1 + random.below(count), most = 4 * count;
    const net::Rank workers = 1 + static_cast<net::Rank>(random.below(6));
    Speeds speeds;
    net::RankSet ranks;
    for (net::Rank rank = 1; rank <= workers; ++rank) {
      speeds[rank] = std::exp(2 * random.normal());
      ranks.push_back(rank);
    }
    Balance balance(unit, most);
    const double slack = balance.observe(speeds, count) ? 1 + 1e-9 : 1.1;  // else what is there is nearly as good
    const Shares shares = balance.shares(ranks, count);
    std::size_t sum = 0;
    for (const auto& [rank, share] : shares) {
      sum += share;
      ASSERT_GE(share, 1u);
      ASSERT_LE(share, most);
    }
    ASSERT_EQ(shares.size(), ranks.size());
    ASSERT_EQ(sum, count * ranks.size());
    for (const net::Rank from : ranks) {  // a unit less here and one more there
      for (const net::Rank to : ranks) {
        Shares moved = shares;
        if (sum % unit != 0 || from == to || moved[from] <= unit || moved[to] + unit > most) continue;
        moved[from] -= unit;
        moved[to] += unit;
        ASSERT_GE(slack * slowest(moved, speeds), slowest(shares, speeds)) << trial;
      }
    }
  }
}

TEST(Balance, SharesStayWhileSpeedsVaryALittle) {
  Balance balance(8, 256);
  EXPECT_FALSE(balance.observe({{1, 10.0}, {2, 10.3}}, 64)) << "as they are with nothing known";
  EXPECT_TRUE(balance.observe({{1, 10.0}, {2, 30.0}}, 64));
  const Shares shares = balance.shares({1, 2}, 64);
  EXPECT_EQ(shares, (Shares{{1, 32}, {2, 96}}));
  EXPECT_FALSE(balance.observe({{1, 10.4}, {2, 29.0}}, 64));
  EXPECT_EQ(balance.shares({1, 2}, 64), shares);
  EXPECT_EQ(balance.shares({2, 3}, 64), (Shares{{2, 64}, {3, 64}})) << "of others nothing is known";
  EXPECT_TRUE(balance.observe({{1, 30.0}, {2, 30.0}}, 64));
  EXPECT_EQ(balance.shares({1, 2}, 64), (Shares{{1, 64}, {2, 64}}));
}

TEST(SpeedMeter, OneDisturbedStepDoesNotCount) {
  SpeedMeter meter;
  EXPECT_EQ(meter.speed(), 0);
  meter.add(8, 4);  // the first step warms up
  EXPECT_DOUBLE_EQ(meter.speed(), 2);
  meter.add(8, 1);
  EXPECT_DOUBLE_EQ(meter.speed(), 8);
  meter.add(16, 2);
  meter.add(8, 100);
  EXPECT_DOUBLE_EQ(meter.speed(), 8);
  for (int i = 0; i < 3; ++i) meter.add(8, 2);
  EXPECT_DOUBLE_EQ(meter.speed(), 4) << "what lasts counts";
}

TEST(SpeedMeter, NonsenseIsIgnored) {
  SpeedMeter meter;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const double seconds : {0.0, -1.0, nan, infinity, 1e-320}) meter.add(8, seconds);
  for (const std::int64_t samples : {std::int64_t{0}, std::int64_t{-8}}) meter.add(samples, 1);
  EXPECT_EQ(meter.speed(), 0);
}

TEST(CheckBalance, RefusesWhatMakesNoSense) {
  struct Case {
    const char *balance, *strategy, *consistency, *split, *error;
  };
  for (const Case& c : std::vector<Case>{
           {"fast", "all_reduce", "sync", "", "balance: must be equal or speed, got 'fast'"},
           {"speed", "parameter_server", "async", "", "'async' nobody waits"},
           {"speed", "parameter_server", "stale(2)", "", "'stale(2)' nobody waits"},
           {"speed", "federated", "k_of_n(2)", "", "strategy 'federated' and consistency 'k_of_n(2)' nobody waits"},
           {"speed", "gossip", "", "by_label(2)", "with split 'by_label(2)' each has samples of its own"},
           {"speed", "parameter_server", "k_of_n(2)", "iid", ""},
           {"speed", "gossip", "async", "", ""},
           {"equal", "federated", "async", "by_label(2)", ""},
           {"", "parameter_server", "async", "", ""}}) {
    TrainJob job = small_job(32);
    job.set_balance(c.balance);
    job.set_strategy(c.strategy);
    job.set_consistency(c.consistency);
    job.set_split(c.split);
    const Status status = check_balance(job);
    ASSERT_EQ(status.ok(), *c.error == '\0') << c.balance << " " << c.strategy << " " << c.consistency;
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.error().message.find(c.error), std::string::npos) << status.error().message;
  }
}

/// Workers of speeds 1 : 1 : 3.
constexpr std::array<Seconds, 3> kPerSample = {0.03, 0.03, 0.01};
constexpr double kSpeed = 1 / 0.03 + 1 / 0.03 + 1 / 0.01;  // samples per second of all of them

struct PacedJob {
  const char* name;
  std::int64_t samples, epochs;
  void (*choose)(TrainJob& job);
};

struct PacedWorkers : ::testing::TestWithParam<PacedJob> {
  PacedWorkers() : job(small_job(GetParam().samples)) {
    job.set_epochs(GetParam().epochs);
    job.set_step_timeout_s(40);
    job.set_balance("speed");
    GetParam().choose(job);
  }
  /// Counts what workers are given, by epoch and sample.
  using Given = std::map<std::int64_t, std::map<std::uint32_t, int>>;
  void set_paces(RoleWorld& world) {
    world.use_virtual_time();
    world.cancel_at_end();
    for (std::size_t i = 0; i < kPerSample.size(); ++i) {
      set_pace(world, job, static_cast<net::Rank>(i) + 1, [this, i](const Work& work) {
        MutexLock lock(mutex);
        for (const std::uint32_t sample : work.samples()) ++given[work.epoch()][sample];
        return kPerSample[i];
      });
    }
  }
  RoleWorld::Outcome run() {
    {
      MutexLock lock(mutex);
      given.clear();
    }
    RoleWorld world(4);
    set_paces(world);
    return train(job, world);
  }
  Seconds seconds_at_best() const { return static_cast<double>(job.epochs() * job.limit()) / kSpeed; }

  TrainJob job;
  Mutex mutex;
  Given given MG_GUARDED_BY(mutex);
};

TEST_P(PacedWorkers, AreDoneAtAboutTheSameTime) {
  const RoleWorld::Outcome outcome = run();
  expect_complete(outcome, job, "speed");
  EXPECT_LT(json_number(outcome.result(), "train_seconds"), 1.15 * seconds_at_best());
  EXPECT_TRUE(outcome.has_event(R"("event":"balanced")"));
  expect_complete(train(job, 3), job, "in real time");
  const double steps = json_number(outcome.result(), "steps");
  job.set_balance("equal");
  const RoleWorld::Outcome equal = run();
  expect_complete(equal, job, "equal");
  EXPECT_GT(json_number(equal.result(), "train_seconds"), 1.6 * seconds_at_best());
  EXPECT_FALSE(equal.has_event(R"("event":"balanced")"));
  EXPECT_EQ(json_number(equal.result(), "steps"), steps) << "the sum of the shares is the same";
}

TEST_P(PacedWorkers, GetEachSampleOnce) {
  expect_complete(run(), job, "speed");
  MutexLock lock(mutex);
  ASSERT_EQ(static_cast<std::int64_t>(given.size()), job.epochs());
  for (const auto& [epoch, times] : given) {
    ASSERT_EQ(static_cast<std::int64_t>(times.size()), job.limit()) << epoch;
    for (const auto& [sample, count] : times) ASSERT_EQ(count, 1) << epoch << " " << sample;
  }
}

TEST_P(PacedWorkers, MayBeLostAtAnyMessage) {
  job.set_limit(200);
  job.set_epochs(2);
  for (const net::Rank victim : {1, 3}) {
    int k = 0;
    for (;; k += kMessageStride) {
      RoleWorld world(4);
      set_paces(world);
      world.die({.rank = victim, .at_send = k});
      const RoleWorld::Outcome outcome = train(job, world);
      if (k >= 8 || outcome.sent[static_cast<std::size_t>(victim)] <= k) break;
      expect_complete(outcome, job, "rank " + std::to_string(victim) + " dead at message " + std::to_string(k));
    }
    EXPECT_GE(k, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, PacedWorkers,
                         ::testing::Values(PacedJob{"Server", 240, 2, [](TrainJob&) {}},
                                           PacedJob{"AllReduce", 240, 2,
                                                    [](TrainJob& job) { job.set_strategy("all_reduce"); }},
                                           PacedJob{"Tree", 240, 2,
                                                    [](TrainJob& job) {
                                                      job.set_strategy("all_reduce");
                                                      job.set_topology("tree");
                                                    }},
                                           PacedJob{"Federated", 960, 3,
                                                    [](TrainJob& job) {
                                                      job.set_strategy("federated");
                                                      job.set_local_steps(8);
                                                    }},
                                           PacedJob{"FederatedByEpoch", 320, 8,
                                                    [](TrainJob& job) {
                                                      job.set_strategy("federated");
                                                      job.set_local_epochs(1);
                                                    }},
                                           PacedJob{"Gossip", 960, 3,
                                                    [](TrainJob& job) {
                                                      job.set_strategy("gossip");
                                                      job.set_local_steps(8);
                                                    }}),
                         [](const auto& test) { return test.param.name; });

/// A run of these workers, each at a pace of its own.
RoleWorld::Outcome train_paced(const TrainJob& job, const std::vector<PacedEndpoint::StepBasis>& paces) {
  RoleWorld world(static_cast<int>(paces.size()) + 1);
  world.use_virtual_time();
  world.cancel_at_end();
  for (std::size_t i = 0; i < paces.size(); ++i) set_pace(world, job, static_cast<net::Rank>(i) + 1, paces[i]);
  return train(job, world);
}

PacedEndpoint::StepBasis always(Seconds per_sample) {
  return [per_sample](const Work&) { return per_sample; };
}

TrainJob job_by_speed(std::int64_t samples) {
  TrainJob job = small_job(samples);
  job.set_balance("speed");
  return job;
}

TEST(BalancedSteps, ComputeWhatOneDeviceDoes) {
  for (const char* strategy : {"parameter_server", "all_reduce"}) {
    TrainJob job = job_by_speed(20 * 24);
    job.set_strategy(strategy);
    job.set_schedule("cosine");
    job.set_weight_decay(0.001f);
    const RoleWorld::Outcome shared = train_paced(job, {always(0.03), always(0.03), always(0.01)});
    ASSERT_TRUE(shared.leader.ok()) << shared.leader.error().message;
    EXPECT_TRUE(shared.has_event(R"("event":"balanced")"));
    job.set_strategy("parameter_server");
    job.set_balance("equal");
    job.set_batch(24);
    EXPECT_LT(relative_difference(trained_parameters(shared), trained_parameters(train(job, 1))), 1e-5) << strategy;
  }
}

/// Samples of each node in the last event.
std::map<std::string, int> last_shares(const RoleWorld::Outcome& outcome) {
  std::map<std::string, int> shares;
  for (const Report& report : outcome.of_kind("event")) {
    const auto event = nlohmann::json::parse(report.json);
    if (event["event"] != "balanced") continue;
    for (const auto& share : event["shares"]) shares[share["node"]] = share["samples"];
  }
  return shares;
}

TEST(BalancedSteps, SharesFollowAWorkerThatGetsSlower) {
  int works = 0;
  const TrainJob job = job_by_speed(480);
  const RoleWorld::Outcome outcome =
      train_paced(job, {[&](const Work&) { return ++works <= 8 ? 0.01 : 0.04; }, always(0.01)});
  expect_complete(outcome, job, "gets slower");
  EXPECT_EQ(last_shares(outcome), (std::map<std::string, int>{{"rank-1", 3}, {"rank-2", 13}}));
  EXPECT_EQ(outcome.of_kind("event").size(), 3u) << "two memory plans, and the shares once";
}

// With a quorum of the others a slow worker is always late; that is how it is known to be slow.
TEST(BalancedSteps, AWorkerThatIsAlwaysLateIsMeasuredToo) {
  TrainJob job = job_by_speed(480);
  job.set_consistency("k_of_n(2)");
  const RoleWorld::Outcome outcome = train_paced(job, {always(0.01), always(0.01), always(0.04)});
  expect_complete(outcome, job, "k_of_n");
  std::map<std::string, int> shares = last_shares(outcome);
  ASSERT_TRUE(shares.contains("rank-3")) << outcome.result();
  EXPECT_LE(shares["rank-3"], 3);
  EXPECT_GE(shares["rank-1"], 9);
}

TEST(BalancedSteps, AQuorumDoesWithoutAWorkerLostAtAnyMessage) {
  TrainJob job = job_by_speed(200);
  job.set_consistency("k_of_n(2)");
  const std::vector<Seconds> per_sample = {0.01, 0.01, 0.04};
  for (const net::Rank victim : {1, 3}) {
    int k = 0;
    for (;; k += kMessageStride) {
      RoleWorld world(4);
      world.use_virtual_time();
      world.cancel_at_end();
      world.die({.rank = victim, .at_send = k});
      for (net::Rank rank = 1; rank <= 3; ++rank)
        set_pace(world, job, rank, always(per_sample[static_cast<std::size_t>(rank) - 1]));
      const RoleWorld::Outcome outcome = train(job, world);
      if (outcome.sent[static_cast<std::size_t>(victim)] <= k) break;
      expect_complete(outcome, job, std::to_string(victim) + " dead at message " + std::to_string(k));
    }
    EXPECT_GE(k, 2);
  }
}

TEST(BalancedSteps, MicroBatchesAreTheUnitOfShares) {
  TrainJob job = job_by_speed(64);
  job.set_batch(16);
  const RoleWorld::Outcome outcome = train(job, 2);
  expect_complete(outcome, job, "an eighth of the batch");
  EXPECT_TRUE(outcome.has_event(R"("micro_batch":2,"micro_batches":32)")) << "room for four batches";
  job.set_micro_batch(4);
  EXPECT_TRUE(train(job, 2).has_event(R"("micro_batch":4,"micro_batches":16)"));
  job.set_strategy("gossip");
  job.clear_micro_batch();
  EXPECT_TRUE(train(job, 2).has_event(R"("micro_batch":16,"micro_batches":1)")) << "shares are whole batches";
}

}  // namespace
}  // namespace mangrove::train
