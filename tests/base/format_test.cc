#include "mangrove/base/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mangrove {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Format, CountsHaveSeparatedThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(15'340), "15,340");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Format, NumbersHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(15'340.2), "15,340");
  EXPECT_EQ(format_number(152.4), "152");
  EXPECT_EQ(format_number(99.96), "100");
  EXPECT_EQ(format_number(17.34), "17.3");
  EXPECT_EQ(format_number(1.5), "1.50");
  EXPECT_EQ(format_number(0.02529), "0.0253");
  EXPECT_EQ(format_number(-2.5), "-2.50");
  EXPECT_EQ(format_number(kNaN), "?");
  EXPECT_EQ(format_number(1e300), "?");
}

TEST(Format, RatesSharesAndThingsAreWhole) {
  EXPECT_EQ(format_rate(31'240), "31,240 images/s");
  EXPECT_EQ(format_rate(0.5, "samples"), "0.500 samples/s");
  EXPECT_EQ(format_percent(0.97614), "97.61 %");
  EXPECT_EQ(format_percent(0.5, 0), "50 %");
  EXPECT_EQ(format_percent(kNaN), "?");
  EXPECT_EQ(format_things(1, "epoch"), "1 epoch");
  EXPECT_EQ(format_things(0, "epoch"), "0 epochs");
  EXPECT_EQ(format_things(10'000, "image"), "10,000 images");
  EXPECT_EQ(format_things(2, "branch", "branches"), "2 branches");
}

TEST(Format, BytesKeepThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1'724'320), "1.72 MB");
  EXPECT_EQ(format_bytes(999'600), "1.00 MB");
  EXPECT_EQ(format_bytes(123'456'789), "123 MB");
  EXPECT_EQ(format_bytes(std::numeric_limits<Bytes>::min()), "?");
}

TEST(Format, DurationsKeepThreeDigits) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(2e-7), "< 1 us");
  EXPECT_EQ(format_seconds(25.29e-6), "25.3 us");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.012), "12 ms");
  EXPECT_EQ(format_seconds(0.9999), "1.0 s") << "not 1e+03 ms";
  EXPECT_EQ(format_seconds(0.00099999), "1 ms");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(59.99), "1 min 00 s");
  EXPECT_EQ(format_seconds(245), "4 min 05 s");
  EXPECT_EQ(format_seconds(7260), "2 h 01 min");
  EXPECT_EQ(format_seconds(kNaN), "?");
  EXPECT_EQ(format_seconds(-1), "?");
}

}  // namespace
}  // namespace mangrove
