#include "mangrove/exits/tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stop_token>
#include <thread>

#include "mangrove/base/random.h"

namespace mangrove::exits {
namespace {

/// Deeper exits are right more often; certain ones too. Segments take 10 us, 20 us and 70 us a sample, whatever the
/// batch; 400 and 100 bytes lie behind the first two.
ExitRecords made_up_records(std::int64_t batch = 1) {
  constexpr std::size_t kSamples = 60;
  Random random(5);
  ExitRecords records{
      .exits = 3, .entropies = {}, .correct = {}, .batch = batch, .seconds = {}, .passed = {400, 100, 0}};
  for (std::size_t i = 0; i < kSamples; ++i) {
    for (std::size_t exit = 0; exit < 3; ++exit) {
      const double entropy = random.uniform();
      records.entropies.push_back(static_cast<float>(entropy));
      records.correct.push_back(random.uniform() > entropy * (0.5 - 0.2 * static_cast<double>(exit)) ? 1 : 0);
    }
  }
  for (const double each : {10e-6, 20e-6, 70e-6}) {
    auto& sizes = records.seconds.emplace_back();
    for (std::int64_t n = 1; n < batch; n *= 2) sizes[n] = each * static_cast<double>(n);
    sizes[batch] = each * static_cast<double>(batch);
  }
  return records;
}

TEST(ExitForecast, AddsUpWhatEachSampleDoes) {
  const ExitRecords records = made_up_records();
  const std::vector<float> thresholds = {0.3f, 0.6f};
  double right = 0, seconds = 0, bytes = 0;
  std::vector<double> left(3);
  for (std::size_t i = 0; i < records.samples(); ++i) {
    std::size_t exit = 0;
    seconds += 10e-6;
    if (records.entropies[3 * i] > 0.3f) {
      bytes += 400;
      seconds += 20e-6;
      exit = records.entropies[3 * i + 1] > 0.6f ? 2 : 1;
      if (exit == 2) seconds += 70e-6;
    }
    right += records.correct[3 * i + exit];
    ++left[exit];
  }
  const ExitForecast found = forecast(records, thresholds);
  const double n = static_cast<double>(records.samples());
  EXPECT_NEAR(found.accuracy, right / n, 1e-9);
  EXPECT_NEAR(found.seconds, seconds / n, 1e-12);
  EXPECT_NEAR(found.passed[0], bytes / n, 1e-9);
  EXPECT_EQ(found.passed[2], 0);
  for (std::size_t exit = 0; exit < 3; ++exit) EXPECT_NEAR(found.exits[exit].share, left[exit] / n, 1e-9);
}

TEST(ExitForecast, CountsWhatFewOfABatchCost) {
  ExitRecords records = made_up_records(4);
  // a run costs the same however many samples are in it: the first always runs; the last where any of four comes
  records.seconds = {
      {{1, 4e-6}, {2, 4e-6}, {4, 4e-6}}, {{1, 4e-6}, {2, 4e-6}, {4, 4e-6}}, {{1, 4e-6}, {2, 4e-6}, {4, 4e-6}}};
  EXPECT_NEAR(forecast(records, {1, 1}).seconds, 1e-6, 1e-12);
  EXPECT_NEAR(forecast(records, {0, 0}).seconds, 3e-6, 1e-12);
  const ExitForecast half = forecast(records, {0, 0.5f});
  const double comes = 1 - half.exits[1].share;
  const double none = std::pow(1 - comes, 4);
  EXPECT_NEAR(half.seconds, 2e-6 + (1 - none) * 1e-6, 1e-8);  // between points of a curve
}

/// The best of all pairs of entropies as thresholds.
template <class Reaches, class Better>
ExitForecast best_of_all(const ExitRecords& records, Reaches reaches, Better better) {
  std::optional<ExitForecast> best;
  for (std::size_t i = 0; i < records.samples(); ++i)
    for (std::size_t j = 0; j < records.samples(); ++j) {
      const ExitForecast one = forecast(records, {records.entropies[3 * i], records.entropies[3 * j + 1]});
      if (reaches(one) && (!best || better(one, *best))) best = one;
    }
  return *best;
}

// 60 samples: each is a level of the grid, but for rounding to four digits.
TEST(TuneExits, IsAsFastAsCanBeAtAnAccuracy) {
  const ExitRecords records = made_up_records();
  const double whole = forecast(records, {0, 0}).accuracy;
  const auto thresholds = tune_exits(records, {.kind = ExitTarget::Kind::accuracy, .value = 0.05}, {});
  ASSERT_TRUE(thresholds.ok()) << thresholds.error().message;
  const ExitForecast found = forecast(records, *thresholds);
  EXPECT_GE(found.accuracy, whole - 0.05 - 1e-9);
  const ExitForecast best = best_of_all(
      records, [&](const ExitForecast& f) { return f.accuracy >= whole - 0.05; },
      [](const ExitForecast& a, const ExitForecast& b) { return a.seconds < b.seconds; });
  EXPECT_LT(best.seconds, 0.9 * forecast(records, {0, 0}).seconds);
  EXPECT_NEAR(found.seconds, best.seconds, 2e-6);
}

TEST(TuneExits, IsAsAccurateAsCanBeInATime) {
  const ExitRecords records = made_up_records();
  const auto thresholds = tune_exits(records, {.kind = ExitTarget::Kind::latency, .value = 45e-6}, {});
  ASSERT_TRUE(thresholds.ok()) << thresholds.error().message;
  const ExitForecast found = forecast(records, *thresholds);
  EXPECT_LE(found.seconds, 45e-6 + 1e-12);
  const ExitForecast best = best_of_all(
      records, [](const ExitForecast& f) { return f.seconds <= 45e-6; },
      [](const ExitForecast& a, const ExitForecast& b) { return a.accuracy > b.accuracy; });
  EXPECT_GE(found.accuracy, best.accuracy - 0.02);
}

TEST(TuneExits, SendsNoMoreThanItMay) {
  const ExitRecords records = made_up_records();
  for (const std::size_t exit : {0u, 1u}) {
    const double most = exit == 0 ? 100 : 20;
    const auto thresholds = tune_exits(records, {.kind = ExitTarget::Kind::traffic, .value = most, .exit = exit}, {});
    ASSERT_TRUE(thresholds.ok()) << thresholds.error().message;
    const ExitForecast found = forecast(records, *thresholds);
    EXPECT_LE(found.passed[exit], most + 1e-9);
    EXPECT_GT(found.accuracy, forecast(records, {1, 1}).accuracy);
  }
}

/// Twelve exits: the search would take hours.
TEST(TuneExits, IsStopped) {
  constexpr std::size_t kTunedExits = 12;
  Random random(5);
  ExitRecords records{.exits = kTunedExits, .entropies = {}, .correct = {}, .seconds = {}, .passed = {}};
  records.passed.assign(kTunedExits, 4);
  records.seconds.assign(kTunedExits, {{1, 1e-6}});
  for (std::size_t i = 0; i < 1000 * kTunedExits; ++i) {
    records.entropies.push_back(static_cast<float>(random.uniform()));
    records.correct.push_back(1);
  }
  std::stop_source stop;
  std::jthread impatient([&] { stop.request_stop(); });
  EXPECT_EQ(tune_exits(records, {.kind = ExitTarget::Kind::accuracy, .value = 0.05}, stop.get_token()).code(),
            Code::cancelled);
}

TEST(TuneExits, SaysWhatIsOutOfReach) {
  const ExitRecords records = made_up_records();
  const auto thresholds = tune_exits(records, {.kind = ExitTarget::Kind::latency, .value = 5e-6}, {});
  ASSERT_EQ(thresholds.code(), Code::failed_precondition);
  EXPECT_NE(thresholds.error().message.find("10 us for a sample"), std::string::npos) << thresholds.error().message;
  EXPECT_EQ(tune_exits(records, {.kind = ExitTarget::Kind::traffic, .value = 1, .exit = 2}, {}).code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::exits
