#include "mangrove/infer/pipeline/stage_load_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/job/still_device.h"

#include "mangrove/job/json.h"
#include "mangrove/net/in_process.h"

namespace mangrove::infer {
namespace {

using job::Json;

struct StageLoadLogTest : ::testing::Test {
  SteadyClock clock;
  net::InProcessWorld world{3};
  std::vector<Json> told;
  job::StillDevice device;
  job::RoleContext context{.endpoint = world.endpoint(0),
                           .clock = clock,
                           .device = device,
                           .data_folder = {},
                           .stop = {},
                           .report = [this](const Report& report) {
                             EXPECT_EQ(report.kind, ReportKind::line);
                             told.push_back(Json::parse(report.json));
                           }};
  Reports reports{context};
  StageLoadLog log{reports};

  /// A micro-batch that took two stages so long, and for which so many waited at the second one.
  static Trace trace(Seconds first, Seconds second, std::uint32_t queued) {
    Trace trace;
    for (const Seconds seconds : {first, second}) trace.add_seconds(seconds);
    for (const net::Rank rank : {1, 2}) trace.add_ranks(rank);
    trace.add_queued(0);
    trace.add_queued(queued);
    return trace;
  }
};

TEST_F(StageLoadLogTest, SaysHowBusyStagesWereAndHowManyWaited) {
  log.begin({10});
  log.sent(0, {10});
  log.sent(1, {10});
  log.sent(0, {10.03});  // again: the first time counts
  log.answered(0, trace(0.01, 0.02, 2), {10.05});
  EXPECT_TRUE(told.empty()) << "not so soon";
  log.answered(1, trace(0.01, 0.06, 5), {10.2});
  ASSERT_EQ(told.size(), 1u);
  const Json& line = told[0];
  EXPECT_NEAR(line["at_s"], 0.2, 1e-9);
  EXPECT_EQ(line["micro_batches"], 2);
  EXPECT_NEAR(line["latency_s"], (0.05 + 0.2) / 2, 1e-9);
  ASSERT_EQ(line["stages"].size(), 2u);
  EXPECT_EQ(line["stages"][1]["stage"], 1);
  EXPECT_EQ(line["stages"][1]["node"], reports.node(2));
  EXPECT_NEAR(line["stages"][0]["utilisation"], 0.02 / 0.2, 1e-9);
  EXPECT_NEAR(line["stages"][1]["utilisation"], 0.08 / 0.2, 1e-9);
  EXPECT_NEAR(line["stages"][1]["queue"], 3.5, 1e-9);
}

TEST_F(StageLoadLogTest, OfALongRunTellsEverLessOften) {
  log.begin({0});
  constexpr int kMicroBatches = 72'000;  // two hours, ten a second
  for (std::uint64_t id = 0; id < kMicroBatches; ++id) {
    const Instant now{0.1 * static_cast<double>(id) + 0.1};
    log.sent(id, now + -0.05);
    log.answered(id, trace(0.05, 0.05, 0), now);
  }
  EXPECT_GT(told.size(), 1000u);
  EXPECT_LT(told.size(), 2500u);
  std::int64_t micro_batches = 0;
  for (const Json& line : told) micro_batches += line["micro_batches"].get<std::int64_t>();
  EXPECT_GT(micro_batches, kMicroBatches * 95 / 100) << "each is in one line";
  EXPECT_LE(micro_batches, kMicroBatches);
  EXPECT_NEAR(told.back()["stages"][0]["utilisation"], 0.5, 0.05);
}

}  // namespace
}  // namespace mangrove::infer
