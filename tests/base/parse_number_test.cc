#include "mangrove/base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace mangrove {
namespace {

TEST(ParseNumber, TakesBothEndsOfItsRange) {
  EXPECT_EQ(parse_number("0.01", 0.01, 2).value(), 0.01);
  EXPECT_EQ(parse_number("2", 0.01, 2).value(), 2);
  EXPECT_EQ(parse_number("1e3", 0, 1000).value(), 1000);
}

TEST(ParseNumber, SaysTheRangeAsPeopleWriteIt) {
  const auto refusal = [](const char* text, double low, double high) {
    return parse_number(text, low, high).error().message;
  };
  EXPECT_EQ(refusal("1001", 0, 1000), "'1001' is not a number from 0 to 1,000");
  EXPECT_EQ(refusal("0", 0.01, 0.9), "'0' is not a number from 0.01 to 0.9");
  EXPECT_EQ(refusal("-1", 0, kNoBound), "'-1' is not a number of 0 or more");
}

TEST(ParseNumber, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_whole_number("100", 1, 100).value(), 100);
  EXPECT_EQ(parse_whole_number("1e1", 1, 100).error().message, "'1e1' is not a whole number from 1 to 100");
  EXPECT_EQ(parse_whole_number("0", 1, std::numeric_limits<std::int64_t>::max()).error().message,
            "'0' is not a whole number of 1 or more");
}

TEST(ParseNumber, RefusesWhatIsNotANumberToTheEnd) {
  for (const char* text : {"", "x", "1x", " 1", "nan"})
    EXPECT_EQ(parse_number(text, 0, 10).code(), Code::invalid_argument) << text;
}

}  // namespace
}  // namespace mangrove
