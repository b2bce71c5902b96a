#include "mangrove/compress/range_method.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mangrove/base/random.h"

namespace mangrove::compress {
namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random.normal());
  return numbers;
}

TEST(Histogram, CountsAreThoseOfAllElementsWhateverTheirOrder) {
  std::vector<float> numbers = normal_numbers(10'000, 1);
  numbers[9'000] = -37;  // wider by far than what came before
  Histogram whole, parts;
  ASSERT_TRUE(whole.add(numbers));
  for (std::size_t i = 0; i < numbers.size(); i += 100) ASSERT_TRUE(parts.add(std::span(numbers).subspan(i, 100)));
  for (const Histogram* histogram : {&whole, &parts}) {
    EXPECT_EQ(histogram->low(), -37);
    EXPECT_EQ(histogram->largest(), 37);
    EXPECT_EQ(histogram->total(), 10'000u);
    // at least half of the bins cover what was seen
    EXPECT_GE(37 / histogram->width(), Histogram::kBins / 2);
    EXPECT_LT(37 / histogram->width(), Histogram::kBins);
    std::vector<std::uint64_t> expected(Histogram::kBins);
    for (const float x : numbers) ++expected[static_cast<std::size_t>(std::abs(x) / histogram->width())];
    std::size_t moved = 0;  // by rounding at the edge of a bin
    for (std::size_t i = 0; i < expected.size(); ++i) {
      moved += expected[i] > histogram->counts()[i] ? expected[i] - histogram->counts()[i] : 0;
    }
    EXPECT_LE(moved, 2u);
  }
}

TEST(Histogram, ZerosBeforeAnythingElseAreCounted) {
  Histogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{0, 0, 0}));
  EXPECT_EQ(histogram.largest(), 0);
  ASSERT_TRUE(histogram.add(std::vector<float>{4, 0}));
  EXPECT_EQ(histogram.counts()[0], 4u);
  EXPECT_EQ(histogram.total(), 5u);
  EXPECT_EQ(histogram.low(), 0);
}

TEST(Histogram, RefusesWhatIsNoNumber) {
  Histogram histogram;
  EXPECT_FALSE(histogram.add(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(histogram.add(std::vector<float>{1, -std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(histogram.empty());
}

double limit(const char* method, const Histogram& histogram, int steps = 127) {
  return find_range_method(method).value()->limit(histogram, steps);
}

TEST(RangeMethods, HoldWhatTheyPromise) {
  std::vector<float> numbers = normal_numbers(100'000, 2);
  numbers[7] = 60;  // an outlier
  Histogram histogram;
  ASSERT_TRUE(histogram.add(numbers));
  EXPECT_EQ(limit("minmax", histogram), 60);
  // 99.99 % of |x| of a normal distribution are below 3.89
  EXPECT_NEAR(limit("percentile", histogram), 3.89, 0.25);
  const double entropy = limit("entropy", histogram);
  EXPECT_GT(entropy, 2);
  EXPECT_LT(entropy, 6);
}

TEST(RangeMethods, EntropyKeepsAllOfAnEvenDistribution) {
  std::vector<float> numbers(100'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 100'000;
  Histogram histogram;
  ASSERT_TRUE(histogram.add(numbers));
  for (const int steps : {127, 255}) EXPECT_GT(limit("entropy", histogram, steps), 0.98) << steps;
}

TEST(RangeMethods, OfZerosIsZero) {
  Histogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>(100)));
  for (const RangeMethod& method : range_methods()) EXPECT_EQ(method.limit(histogram, 255), 0) << method.name;
}

TEST(RangeMethods, AnUnknownNameIsAnErrorThatNamesTheNearest) {
  const auto found = find_range_method("entrpy");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.code(), Code::invalid_argument);
  EXPECT_NE(found.error().message.find("'entropy'"), std::string::npos) << found.error().message;
}

}  // namespace
}  // namespace mangrove::compress
