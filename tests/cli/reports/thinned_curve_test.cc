#include "mangrove/cli/reports/thinned_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mangrove/cli/reports/time_histogram.h"

namespace mangrove::cli {
namespace {

TEST(ThinnedCurve, KeepsEveryPointOfAShortOne) {
  ThinnedCurve curve;
  EXPECT_TRUE(curve.empty());
  for (int i = 0; i < 1000; ++i) curve.add(i, 2 * i);
  const Curve points = curve.points();
  ASSERT_EQ(points.size(), 1000u);
  EXPECT_EQ(points[777], (std::pair<double, double>{777, 1554}));
  EXPECT_FALSE(curve.empty());
}

TEST(ThinnedCurve, OfALongOneKeepsMeans) {
  ThinnedCurve curve;
  constexpr int kPoints = 100'001;
  for (int i = 0; i < kPoints; ++i) curve.add(i, i % 2 == 0 ? 0 : 10);
  const Curve points = curve.points();
  EXPECT_LE(points.size(), 1024u);
  EXPECT_GT(points.size(), 500u);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    EXPECT_EQ(points[i].second, 5) << i;
    EXPECT_LT(points[i].first, points[i + 1].first);
  }
  EXPECT_NEAR(points.back().first, kPoints, 256) << "the last ones are there too";
}

TEST(TimeHistogram, SumsUpIntervalsThatGrow) {
  TimeHistogram histogram;
  EXPECT_TRUE(histogram.per_second().empty());
  for (int i = 0; i < 1000; ++i) histogram.add(0.1 * i, 5);  // 50 a second for 100 s
  const Curve curve = histogram.per_second();
  ASSERT_GT(curve.size(), 30u);
  ASSERT_LE(curve.size(), 64u);
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) EXPECT_NEAR(curve[i].second, 50, 5) << i;
  EXPECT_NEAR(curve.back().first, 100, 4);
}

TEST(TimeHistogram, CountsWhatIsThereAtOnce) {
  TimeHistogram open;
  open.add_span(0, 8);
  open.add_span(2, 6);
  open.add_span(2, 6);
  for (const auto& [time, count] : open.per_second()) {
    const bool is_at_an_end = std::abs(time - 2) < 0.2 || std::abs(time - 6) < 0.2;
    if (is_at_an_end) continue;
    EXPECT_NEAR(count, time > 2 && time < 6 ? 3 : 1, 1e-9) << "after " << time;
  }
}

TEST(TimeHistogram, LeavesOutTimesThatCannotBe) {
  TimeHistogram histogram;
  histogram.add(-1, 5);
  histogram.add(1e30, 5);
  histogram.add(std::numeric_limits<double>::quiet_NaN(), 5);
  histogram.add_span(3, 2);
  histogram.add_span(3, 1e30);
  EXPECT_TRUE(histogram.empty());
  histogram.add(0, 5);
  ASSERT_EQ(histogram.per_second().size(), 1u);
}

}  // namespace
}  // namespace mangrove::cli
