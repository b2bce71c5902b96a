#include "mangrove/tensor/sixteen_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mangrove {
namespace {

TEST(SixteenBits, EveryFloat16IsItsOwnNearest) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = from_float16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(rounded_to_float16(value))) << bits;
    } else {
      EXPECT_EQ(rounded_to_float16(value), value) << bits;
      EXPECT_EQ(std::signbit(rounded_to_float16(value)), bits >= 0x8000) << bits;
    }
  }
}

TEST(SixteenBits, Float16RoundsToTheNearestAndToEven) {
  EXPECT_EQ(from_float16(0x3c00), 1);
  EXPECT_EQ(from_float16(0xc000), -2);
  EXPECT_EQ(from_float16(0x0001), 0x1p-24f);
  EXPECT_EQ(from_float16(0x7bff), 65504);
  EXPECT_EQ(rounded_to_float16(1 + 0x1p-11f), 1);              // halfway to the next: even
  EXPECT_EQ(rounded_to_float16(1 + 0x1.8p-10f), 1 + 0x1p-9f);  // halfway from an odd one
  EXPECT_EQ(rounded_to_float16(65519), 65504);
  EXPECT_EQ(rounded_to_float16(65520), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded_to_float16(-1e30f), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded_to_float16(0x1.8p-24f), 0x1p-23f);  // halfway between two that are not normal
  EXPECT_EQ(rounded_to_float16(0x1p-25f), 0);
}

TEST(SixteenBits, Bfloat16KeepsTheUpperHalf) {
  EXPECT_EQ(from_bfloat16(0x3f80), 1);
  EXPECT_EQ(rounded_to_bfloat16(1 + 0x1p-8f), 1);
  EXPECT_EQ(rounded_to_bfloat16(1 + 0x1.8p-7f), 1 + 0x1p-6f);
  EXPECT_EQ(rounded_to_bfloat16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rounded_to_bfloat16(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace mangrove
