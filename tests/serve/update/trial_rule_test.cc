#include "mangrove/serve/update/trial_rule.h"

#include <gtest/gtest.h>

#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::serve {
namespace {

/// Latencies around `mean`, spread as those of a busy server are.
TrialRecord record_of(std::int64_t requests, std::int64_t failures, Seconds mean, std::uint64_t seed) {
  Random random(seed);
  TrialRecord record{.requests = requests, .failures = failures};
  for (std::int64_t i = failures; i < requests; ++i)
    record.latencies.push_back(mean * random.uniform(0.5, 1.5) * (random.uniform() < 0.05 ? 5 : 1));
  return record;
}

TEST(TrialRule, KnowsFishersProbabilities) {
  // Fisher's lady who tastes tea: of 8 cups she names all 4 right, which chance does in 1 of 70 cases
  EXPECT_NEAR(more_failures_by_chance({.requests = 4, .failures = 0}, {.requests = 4, .failures = 4}), 1.0 / 70, 1e-12);
  EXPECT_NEAR(more_failures_by_chance({.requests = 4, .failures = 1}, {.requests = 4, .failures = 3}), 17.0 / 70,
              1e-12);
  EXPECT_EQ(more_failures_by_chance({.requests = 1000, .failures = 0}, {.requests = 100, .failures = 0}), 1);
}

TEST(TrialRule, KnowsWhatRanksSay) {
  EXPECT_NEAR(larger_by_chance({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}), 0.5, 0.05);
  std::vector<double> low, high;
  for (int i = 0; i < 40; ++i) {
    low.push_back(i);
    high.push_back(i + 20);
  }
  EXPECT_LT(larger_by_chance(low, high), 1e-4);
  EXPECT_GT(larger_by_chance(high, low), 0.999);
  EXPECT_EQ(larger_by_chance({}, {1}), 1);
}

TEST(TrialRule, LooksThreeTimes) {
  EXPECT_EQ(trial_looks({.requests = 200}), (std::vector<std::int64_t>{50, 100, 200}));
  EXPECT_EQ(trial_looks({.requests = 1}), (std::vector<std::int64_t>{1, 1, 1}));
  const TrialRecord failing = record_of(49, 49, 0.01, 1);
  EXPECT_FALSE(judge_trial({}, record_of(500, 0, 0.01, 2), failing)) << "49 are too few to look";
}

TEST(TrialRule, AVersionThatIsAsGoodTakesOverAtTheLastLook) {
  const TrialRecord old = record_of(2000, 4, 0.01, 1);
  EXPECT_FALSE(judge_trial({}, old, record_of(100, 0, 0.01, 2)));
  const auto verdict = judge_trial({}, old, record_of(200, 1, 0.01, 3));
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->takes_over) << verdict->reason;
}

TEST(TrialRule, AFailingVersionIsFoundAtTheFirstLook) {
  const auto verdict = judge_trial({}, record_of(450, 0, 0.01, 1), record_of(50, 10, 0.01, 2));
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->takes_over);
  EXPECT_EQ(verdict->reason, "it fails more often: 10 of 50 requests, the version before 0 of 450 requests");
}

TEST(TrialRule, ASlowVersionIsFoundAtTheFirstLook) {
  const auto verdict = judge_trial({}, record_of(450, 0, 0.01, 1), record_of(50, 0, 0.03, 2));
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->takes_over);
  EXPECT_NE(verdict->reason.find("slower"), std::string::npos) << verdict->reason;
}

TEST(TrialRule, AsGoodVersionsSeldomGoBack) {
  int back = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const TrialRecord old = record_of(1800, 18, 0.01, 2 * seed);
    for (const std::int64_t look : trial_looks({})) {
      const auto verdict = judge_trial({}, old, record_of(look, look / 100, 0.01, 1000 * seed + 7));
      if (verdict && !verdict->takes_over) {
        ++back;
        break;
      }
    }
  }
  EXPECT_LE(back, 6) << "of 300; the two tests together promise at most 2 %";
}

}  // namespace
}  // namespace mangrove::serve
