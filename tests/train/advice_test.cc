#include "mangrove/train/advice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/train/training_job.h"

#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

using nlohmann::json;

/// Of boards that make `local_steps` steps of 64 samples between two exchanges.
Speed speed_of(std::size_t boards, Seconds compute_step, Seconds exchange, double local_steps = 1) {
  Speed speed;
  speed.boards = boards;
  speed.batch = 64;
  speed.samples_per_epoch = 100'000;
  speed.samples_per_round = 64 * local_steps;
  speed.compute = compute_step / 64;
  speed.samples_per_s = static_cast<double>(boards) * speed.samples_per_round / (local_steps * compute_step + exchange);
  return speed;
}

TEST(Advice, IsOneBoardWhereAStepIsMostlyExchange) {
  const Advice advice = advise(speed_of(10, 0.9e-3, 70e-3));
  EXPECT_EQ(advice.boards, 1u);
  EXPECT_NEAR(advice.speedup, 10 * 0.9 / 70.9, 1e-9);
  EXPECT_NEAR(advice.compute, 0.9e-3, 1e-12);
  EXPECT_NEAR(advice.exchange, 70e-3, 1e-9);
  EXPECT_EQ(advice.local_steps, 20);
  EXPECT_EQ(advice.why,
            "a step of 64 samples on each board takes 900 us to compute and 70 ms to exchange; 10 boards train 0.127 "
            "times as fast as one would alone; with strategy federated and local_steps of at least 20 they would train "
            "at least 2 times as fast");
}

TEST(Advice, IsAllBoardsWhereAStepIsMostlyComputing) {
  const Advice advice = advise(speed_of(10, 0.5, 70e-3));
  EXPECT_EQ(advice.boards, 10u);
  EXPECT_NEAR(advice.speedup, 10 * 0.5 / 0.57, 1e-9);
  EXPECT_EQ(advice.local_steps, std::nullopt) << "they are worth it as it is";
  EXPECT_EQ(advice.why,
            "a step of 64 samples on each board takes 500 ms to compute and 70 ms to exchange; 10 boards train 8.77 "
            "times as fast as one would alone");
}

TEST(Advice, TheLocalStepsAreTheFewestWithWhichTheBoardsAreTwiceAsFast) {
  for (const std::size_t boards : {3u, 4u, 10u, 30u}) {
    for (const Seconds exchange : {2.1e-3, 20.3e-3, 71.7e-3}) {
      const std::optional<std::int64_t> steps = advise(speed_of(boards, 1e-3, exchange)).local_steps;
      const bool is_worth_it = advise(speed_of(boards, 1e-3, exchange)).speedup >= 2;
      ASSERT_EQ(steps.has_value(), !is_worth_it) << boards << " boards, " << exchange;
      if (is_worth_it) continue;
      const auto speedup_with = [&](std::int64_t local_steps) {
        return advise(speed_of(boards, 1e-3, exchange, static_cast<double>(local_steps))).speedup;
      };
      EXPECT_GE(speedup_with(*steps), 2 - 1e-9) << boards << " boards, " << exchange;
      EXPECT_LT(speedup_with(*steps - 1), 2) << boards << " boards, " << exchange;
    }
  }
}

TEST(Advice, NoLocalStepsMakeTwoBoardsTwiceAsFast) {
  const Advice advice = advise(speed_of(2, 1e-3, 70e-3));
  EXPECT_EQ(advice.boards, 1u);
  EXPECT_EQ(advice.local_steps, std::nullopt);
  EXPECT_EQ(advice.why.find("federated"), std::string::npos) << advice.why;
}

TEST(Advice, IsOfNoRoundsLongerThanAnEpoch) {
  Speed speed = speed_of(10, 1e-3, 79e-3);
  speed.samples_per_epoch = 20 * 640;
  EXPECT_EQ(advise(speed).local_steps, 20);
  EXPECT_NE(advise(speed).why.find(", but an epoch would have fewer than 5 rounds"), std::string::npos);
  --speed.samples_per_epoch;
  EXPECT_EQ(advise(speed).local_steps, std::nullopt);
}

TEST(Advice, WarnsOfAnEpochOfFewRounds) {
  Speed speed = speed_of(4, 1, 1e-3, 16);
  speed.samples_per_epoch = 4 * 16 * 64 * 5;
  EXPECT_EQ(advise(speed).why.find("fewer"), std::string::npos) << advise(speed).why;
  --speed.samples_per_epoch;
  const Advice advice = advise(speed);
  EXPECT_EQ(advice.boards, 4u);
  EXPECT_NE(advice.why.find("a round of 1024 samples"), std::string::npos) << advice.why;
  EXPECT_NE(advice.why.find("; an epoch has fewer than 5 such rounds"), std::string::npos) << advice.why;
}

/// A meter of a job that began at 0 and whose workers have answered to so many rounds of a second, each with ten
/// samples that took rank / 100 s each.
JobMeter meter_after(int rounds, net::Rank workers) {
  JobMeter meter;
  for (int round = 1; round <= rounds; ++round) {
    for (net::Rank rank = 1; rank <= workers; ++rank) meter.add(rank, 10, 0.1 * rank);
    meter.end_update(round, static_cast<std::size_t>(workers));
  }
  return meter;
}

TEST(JobMeter, MeasuresWithoutTheFirstTwoRounds) {
  JobMeter meter;
  for (const Seconds end : {50.0, 70.0, 71.0, 72.0}) {
    EXPECT_FALSE(meter.is_settled());
    for (const net::Rank rank : {1, 2, 3}) meter.add(rank, 10, 0.1 * rank);
    meter.end_update(end, 3);
  }
  EXPECT_TRUE(meter.is_settled()) << "two seconds";
  const Speed speed = meter.speed().value();
  EXPECT_EQ(speed.boards, 3u);
  EXPECT_DOUBLE_EQ(speed.samples_per_s, 30);
  EXPECT_DOUBLE_EQ(speed.samples_per_round, 10);
  EXPECT_DOUBLE_EQ(speed.compute, 0.02) << "the median of 0.01, 0.02 and 0.03";
}

TEST(JobMeter, OfUpdatesOfOneWorkerEachARoundIsAllWorkers) {
  JobMeter meter;
  Seconds now = 0;
  for (int update = 1; update <= 2 * 4 + 10 * 4; ++update) {
    EXPECT_FALSE(meter.is_settled()) << update;
    meter.add(1 + update % 4, 5, 0.001);
    meter.end_update(now += 0.01, 4);
  }
  EXPECT_TRUE(meter.is_settled()) << "ten rounds";
  EXPECT_NEAR(meter.speed()->samples_per_s, 500, 1e-6);
}

TEST(JobMeter, BeginsAnewWhereTheNumberOfWorkersChanges) {
  JobMeter meter = meter_after(20, 4);
  ASSERT_TRUE(meter.is_settled());
  EXPECT_DOUBLE_EQ(meter.speed()->samples_per_s, 40);
  for (const Seconds end : {30.0, 40.0, 50.0, 60.0}) {
    for (const net::Rank rank : {1, 2, 3}) meter.add(rank, 10, 0.1);
    meter.end_update(end, 3);
    EXPECT_EQ(meter.speed()->boards, end == 30 ? 4u : 3u) << "nothing is known of the three yet";
    EXPECT_EQ(meter.is_settled(), end == 60);
  }
  EXPECT_DOUBLE_EQ(meter.speed()->samples_per_s, 3);
}

TEST(JobMeter, OfAShortJobSaysWhatThereIs) {
  EXPECT_FALSE(JobMeter().speed());
  EXPECT_FALSE(meter_after(1, 3).is_settled());
  EXPECT_DOUBLE_EQ(meter_after(1, 3).speed()->samples_per_s, 30);
  EXPECT_DOUBLE_EQ(meter_after(2, 3).speed()->samples_per_s, 30);
}

TEST(JobMeter, OfOneWorkerThereIsNothingToSay) {
  EXPECT_FALSE(meter_after(20, 1).speed());
}

TEST(JobMeter, WorkersThatDoNotTellAreNotCounted) {
  for (const Seconds untold : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    JobMeter one_tells, nobody_tells;
    for (int round = 1; round <= 5; ++round) {
      one_tells.add(1, 10, untold);
      one_tells.add(2, 10, 0.5);
      one_tells.end_update(round, 2);
      nobody_tells.add(1, 10, untold);
      nobody_tells.add(2, 10, untold);
      nobody_tells.end_update(round, 2);
    }
    EXPECT_DOUBLE_EQ(one_tells.speed()->compute, 0.05);
    EXPECT_DOUBLE_EQ(one_tells.speed()->samples_per_s, 20);
    EXPECT_FALSE(nobody_tells.speed());
  }
}

/// Ten boards in virtual time, each of which computes `compute` on a step of 8 samples; a message takes `latency`.
RoleWorld::Outcome train_on_ten(TrainJob job, Seconds compute, Seconds latency) {
  RoleWorld world(11);
  world.use_virtual_time(latency);
  world.cancel_at_end();
  for (net::Rank rank = 1; rank <= 10; ++rank)
    world.replace(rank, idle_worker(
                            job.limit(), [](const Work&) { return true; }, compute / 8));
  RoleWorld::Outcome outcome = train(job, world);
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return outcome;
}

class AdviceOfAJob : public ::testing::TestWithParam<const char*> {
 protected:
  static TrainJob job() {
    TrainJob job = small_job(4000);  // 50 steps of ten boards
    if (GetParam() == std::string("federated")) {
      job.set_strategy("federated");
      job.set_local_steps(2);
    } else {
      job.set_consistency(GetParam());
    }
    return job;
  }
  static Seconds steps() { return GetParam() == std::string("federated") ? 2 : 1; }
};

TEST_P(AdviceOfAJob, ComesOnceWhereTheNetworkIsSlow) {
  const RoleWorld::Outcome outcome = train_on_ten(job(), 0.9e-3, 35e-3);
  int told = 0;
  for (const Report& report : outcome.of_kind("event")) {
    const json event = json::parse(report.json);
    if (event["event"] != "advice") continue;
    ++told;
    EXPECT_EQ(event["boards"], 1);
    EXPECT_NEAR(event["predicted_speedup"], 10 * steps() * 0.9 / (steps() * 0.9 + 70), 0.02);
    EXPECT_NEAR(event["exchange_s"], 70e-3, 7e-3);
    EXPECT_NEAR(event["local_steps"], 20, 3);
  }
  EXPECT_EQ(told, 1);
  const json advice = json::parse(outcome.result())["advice"];
  EXPECT_EQ(advice["boards"], 1);
  EXPECT_NEAR(advice["compute_s"], steps() * 0.9e-3, 0.1e-3);
  EXPECT_NE(advice["why"].get<std::string>().find("10 boards train 0."), std::string::npos) << advice;
}

TEST_P(AdviceOfAJob, DoesNotComeWhereTheNetworkIsFast) {
  const RoleWorld::Outcome outcome = train_on_ten(job(), 50e-3, 1e-3);
  EXPECT_FALSE(outcome.has_event(R"("event":"advice")"));
  const json advice = json::parse(outcome.result())["advice"];
  EXPECT_EQ(advice["boards"], 10);
  EXPECT_GT(advice["predicted_speedup"], 9);
  EXPECT_FALSE(advice.contains("local_steps"));
}

INSTANTIATE_TEST_SUITE_P(Strategies, AdviceOfAJob, ::testing::Values("sync", "async", "federated"),
                         [](const auto& test) { return std::string(test.param); });

class AdviceOfARealJob : public ::testing::TestWithParam<StrategyCase> {};

TEST_P(AdviceOfARealJob, IsInTheResult) {
  const RoleWorld::Outcome outcome = train(job_of(GetParam(), 200), 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const json advice = json::parse(outcome.result())["advice"];
  if (strategy_of(job_of(GetParam(), 200)).pipeline != nullptr) {  // no worker has computed it all
    EXPECT_TRUE(advice.is_null());
    return;
  }
  ASSERT_TRUE(advice.is_object()) << outcome.result();
  EXPECT_GT(advice["compute_s"], 0);
  EXPECT_GE(advice["exchange_s"], 0);
  EXPECT_GT(advice["predicted_speedup"], 0);
  EXPECT_EQ(advice["boards"], advice["predicted_speedup"] < 1 ? 1 : 3);
}

TEST_P(AdviceOfARealJob, OfOneBoardThereIsNone) {
  StrategyCase strategy = GetParam();
  TrainJob job = job_of(strategy, 100);
  if (strategy.name == "k_of_n" || strategy.name == "buffered") job.set_consistency("k_of_n(1)");
  const RoleWorld::Outcome outcome = train(job, 1);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_FALSE(json::parse(outcome.result()).contains("advice"));
}

INSTANTIATE_TEST_SUITE_P(Strategies, AdviceOfARealJob, ::testing::ValuesIn(every_strategy()), name_of);

}  // namespace
}  // namespace mangrove::train
