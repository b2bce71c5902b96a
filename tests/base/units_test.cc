#include "mangrove/base/units.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(ParseBytes, ReadsDecimalAndBinaryUnits) {
  EXPECT_EQ(*parse_bytes("4096"), 4096);
  EXPECT_EQ(*parse_bytes("256MB"), 256'000'000);
  EXPECT_EQ(*parse_bytes("1.5 GiB"), GiB(3) / 2);
  EXPECT_EQ(*parse_bytes("2kib"), 2048);
}

TEST(ParseRate, ReadsBitsAsTcAndBytes) {
  EXPECT_DOUBLE_EQ(*parse_rate("100mbit"), 12.5e6);
  EXPECT_DOUBLE_EQ(*parse_rate("12MB/s"), 12e6);
}

TEST(ParseSeconds, ReadsUnits) {
  EXPECT_DOUBLE_EQ(*parse_seconds("30s"), 30);
  EXPECT_DOUBLE_EQ(*parse_seconds("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_seconds("2min"), 120);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5"), 1.5);
}

TEST(ParseQuantities, RefusesWhatIsNotOneAndQuotesIt) {
  for (const char* text : {"", "MB", "12 parsecs", "-1MB", "nan", "inf", "1e400", "12MBx", "0x10"}) {
    const auto bytes = parse_bytes(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_NE(bytes.error().message.find("'" + std::string(text) + "'"), std::string::npos);
    EXPECT_FALSE(parse_rate(text).ok()) << text;
    EXPECT_FALSE(parse_seconds(text).ok()) << text;
  }
  EXPECT_FALSE(parse_bytes("99999999999TB").ok());
}

}  // namespace
}  // namespace mangrove
