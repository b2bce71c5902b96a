#include "mangrove/train/aggregation/aggregation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "mangrove/base/random.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {
namespace {

using Values = std::vector<float>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

/// As they come from workers.
class Messages {
 public:
  explicit Messages(const std::vector<Values>& rows) {
    for (const Values& row : rows) net::append_floats(bytes_.emplace_back(), row);
  }
  Vectors vectors(float scale = 1) const {
    Vectors all(bytes_.front().size() / sizeof(float));
    for (const std::string& bytes : bytes_) all.add(bytes, scale);
    return all;
  }

 private:
  std::vector<std::string> bytes_;
};

Result<Values> result_of(const std::string& rule, const std::vector<Values>& rows) {
  const Messages messages(rows);
  Values out(rows.front().size(), -7);
  MG_TRY(const auto made, make_aggregation(rule));
  MG_RETURN_IF_ERROR(aggregate(*made, messages.vectors(), out));
  return out;
}

double distance(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (double{a[k]} - b[k]) * (double{a[k]} - b[k]);
  return std::sqrt(sum);
}

/// Normal numbers around a random centre.
std::vector<Values> honest(std::size_t count, std::size_t elements, std::uint64_t seed) {
  Random random(seed);
  Values centre(elements);
  for (float& value : centre) value = static_cast<float>(3 * random.normal());
  std::vector<Values> rows(count, centre);
  for (Values& row : rows)
    for (float& value : row) value += static_cast<float>(random.normal());
  return rows;
}

struct Expected {
  const char* rule;
  Values values;
};

// What reference.py prints, of the vectors there.
const Expected kExpected[] = {
    {"median", {-0.125f, 0.125f, -0.125f, -0.875f}},
    {"trimmed_mean(2)", {0.1f, -0.15f, 0.475f, -0.725f}},
    {"krum(2)", {1.375f, 0.625f, -0.125f, -0.875f}},
    {"multi_krum(2, 3)", {-0.2083333f, 0.625f, 0.25f, -1.333333f}},
    {"multi_krum(2)", {-0.225f, -0.15f, -0.075f, -0.725f}},
    {"geometric_median(1000)", {0.007556265f, 0.1710661f, 0.574604f, -0.6449648f}},
    {"centered_clipping", {0.04791066f, 0.08556685f, 0.5898937f, -0.4465962f}},
    {"centered_clipping(0.5, 2)", {-0.08981228f, 0.1474121f, 0.08229127f, -0.8098323f}},
};

TEST(Aggregation, HasTheValuesOfAnIndependentComputation) {
  std::vector<Values> rows(9, Values(4));
  for (int i = 0; i < 9; ++i) {
    for (int k = 0; k < 4; ++k) {
      const float value = static_cast<float>((7 * i * i + 5 * k * i + 3 * k) % 29 - 14) / 8;
      rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] = i == 2 || i == 6 ? 100 * value : value;
    }
  }
  for (const Expected& expected : kExpected) {
    const Values got = result_of(expected.rule, rows).value();
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], expected.values[k], 1e-5) << expected.rule << " element " << k;
  }
}

TEST(Aggregation, OfAnEvenNumberTheMedianIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(result_of("median", {{1}, {9}, {2}, {4}}).value(), Values{3});
  EXPECT_EQ(result_of("median", {{kLargest}, {kLargest}, {1}, {2}}).value(), Values{kLargest / 2});
}

/// Every rule but the mean, as it is for two liars of nine.
class EveryRule : public ::testing::TestWithParam<std::string> {};

constexpr std::size_t kAggregationWorkers = 9, kLies = 2, kElements = 2500;  // some blocks, the last one not whole

TEST_P(EveryRule, DoesNotDependOnTheOrder) {
  const std::vector<Values> rows = honest(kAggregationWorkers, kElements, 5);
  const Values expected = result_of(GetParam(), rows).value();
  std::vector<Values> mixed = rows;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random(seed).shuffle(std::span(mixed));
    EXPECT_LT(distance(result_of(GetParam(), mixed).value(), expected), 1e-4) << "seed " << seed;
  }
}

TEST_P(EveryRule, OfEqualVectorsIsThatVector) {
  const std::vector<Values> rows(kAggregationWorkers, honest(1, kElements, 6).front());
  EXPECT_LT(distance(result_of(GetParam(), rows).value(), rows.front()), 1e-4);
}

TEST_P(EveryRule, CombinesWhatEachVectorIsTimesItsScale) {
  const std::vector<Values> rows = honest(kAggregationWorkers, kElements, 7);
  std::vector<Values> halves = rows;
  for (Values& row : halves)
    for (float& value : row) value /= 2;
  const Messages messages(rows);
  Values out(kElements);
  ASSERT_TRUE(aggregate(*make_aggregation(GetParam()).value(), messages.vectors(0.5f), out).ok());
  EXPECT_LT(distance(out, result_of(GetParam(), halves).value()), 1e-5);
}

/// Within the honest values of each element, or as near to their centre as the honest vectors are.
TEST_P(EveryRule, StaysAmongTheHonestWhateverLiarsSend) {
  const auto filled = [](float value) { return [value](const Values&) { return Values(kElements, value); }; };
  const std::vector<std::function<Values(const Values&)>> lies = {filled(0),
                                                                  filled(kNaN),
                                                                  filled(kInfinity),
                                                                  filled(-kInfinity),
                                                                  filled(kLargest),
                                                                  filled(-kLargest),
                                                                  filled(1e20f),
                                                                  [](const Values& own) {
                                                                    Values flipped = own;
                                                                    for (float& value : flipped) value = -10 * value;
                                                                    return flipped;
                                                                  },
                                                                  [](const Values& own) {
                                                                    Values mixed = own;
                                                                    for (std::size_t k = 0; k < mixed.size(); k += 2)
                                                                      mixed[k] = k % 4 == 0 ? kLargest : -kLargest;
                                                                    return mixed;
                                                                  },
                                                                  [](const Values& own) {
                                                                    Values one = own;
                                                                    one[kElements - 1] = kNaN;
                                                                    return one;
                                                                  }};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Values> rows = honest(kAggregationWorkers, kElements, seed);
    const std::vector<Values> truth(rows.begin() + kLies, rows.end());
    Values mean(kElements);
    for (const Values& row : truth)
      for (std::size_t k = 0; k < kElements; ++k) mean[k] += row[k] / static_cast<float>(truth.size());
    double farthest = 0;
    for (const Values& row : truth) farthest = std::max(farthest, distance(row, mean));
    for (std::size_t lie = 0; lie < lies.size(); ++lie) {
      for (std::size_t other = 0; other < lies.size(); ++other) {
        std::vector<Values> sent = rows;
        sent[0] = lies[lie](rows[0]);
        sent[1] = lies[other](rows[1]);
        const Result<Values> got = result_of(GetParam(), sent);
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_LE(distance(*got, mean), 1.001 * farthest) << "lies " << lie << ", " << other << ", seed " << seed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule,
                         ::testing::Values("median", "trimmed_mean(2)", "krum(2)", "multi_krum(2)", "multi_krum(2,2)",
                                           "geometric_median", "centered_clipping", "centered_clipping(20,5)"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Aggregation, ByElementStaysWithinTheHonestValuesOfEach) {
  const std::vector<Values> rows = honest(kAggregationWorkers, kElements, 11);
  std::vector<Values> sent = rows;
  sent[3].assign(kElements, kLargest);
  sent[8].assign(kElements, -kLargest);
  for (const char* rule : {"median", "trimmed_mean(2)"}) {
    const Values got = result_of(rule, sent).value();
    for (std::size_t k = 0; k < kElements; ++k) {
      float least = kInfinity, most = -kInfinity;
      for (std::size_t i = 0; i < kAggregationWorkers; ++i) {
        if (i == 3 || i == 8) continue;
        least = std::min(least, rows[i][k]);
        most = std::max(most, rows[i][k]);
      }
      ASSERT_TRUE(got[k] >= least && got[k] <= most) << rule << " element " << k;
    }
  }
}

TEST(Aggregation, KrumIsOneOfTheHonestVectors) {
  std::vector<Values> sent = honest(kAggregationWorkers, kElements, 12);
  sent[0].assign(kElements, 50);
  sent[1] = sent[0];  // they agree
  const Values got = result_of("krum(2)", sent).value();
  EXPECT_TRUE(std::find(sent.begin() + 2, sent.end(), got) != sent.end());
}

TEST(Aggregation, MoreVectorsWithoutNumbersThanMayLieAreAnError) {
  std::vector<Values> sent = honest(5, 3, 1);
  sent[0][2] = kNaN;
  EXPECT_TRUE(result_of("trimmed_mean(1)", sent).ok());
  sent[4][0] = kInfinity;
  const Result<Values> got = result_of("trimmed_mean(1)", sent);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.code(), Code::out_of_range);
  EXPECT_EQ(got.error().message,
            "2 of 5 updates have NaN or infinity, more than the 1 that may be lies: training diverged; try a lower "
            "learning_rate");
  EXPECT_TRUE(result_of("median", sent).ok());
}

TEST(Aggregation, TooFewVectorsAreAnError) {
  for (const auto& [rule, least] : std::vector<std::pair<std::string, std::size_t>>{
           {"median", 3}, {"trimmed_mean(2)", 5}, {"krum(2)", 7}, {"multi_krum(1,4)", 7}, {"multi_krum(3,1)", 9}}) {
    EXPECT_EQ(make_aggregation(rule).value()->least(), least) << rule;
    EXPECT_TRUE(result_of(rule, honest(least, 5, 1)).ok()) << rule;
    const Result<Values> got = result_of(rule, honest(least - 1, 5, 1));
    ASSERT_FALSE(got.ok()) << rule;
    EXPECT_EQ(got.code(), Code::failed_precondition);
    EXPECT_NE(got.error().message.find("needs the updates of " + std::to_string(least)), std::string::npos);
  }
}

TEST(Aggregation, AnUnknownRuleIsNamedWithTheNearestKnownOne) {
  EXPECT_EQ(make_aggregation("kram").error().message, "unknown rule 'kram'; did you mean 'krum'?");
  EXPECT_EQ(make_aggregation("krum(0)").code(), Code::invalid_argument);
  EXPECT_EQ(make_aggregation("median(1)").code(), Code::invalid_argument);
  EXPECT_EQ(make_aggregation("mean").value(), nullptr);
}

}  // namespace
}  // namespace mangrove::train
