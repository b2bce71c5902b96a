#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {
namespace {

// A layer of six elements, an empty one, and one of nine.
const Stream kStream{.layers = {{2, 3}, {0, 0}, {1, 9}}};

std::vector<float> decoded(const std::string& message) {
  std::vector<float> values(static_cast<std::size_t>(kStream.elements()));
  EXPECT_TRUE(make_codec("sign", kStream).value()->decode(message, values).ok());
  return values;
}

TEST(Sign, SendsAMeanMagnitudeForEachLayerAndABitForEachElement) {
  const std::vector<float> values = {1, -2, 3, 0, -4, 8, -1, -1, -1, -1, -1, -1, -1, -1, 1};
  const std::string message = make_codec("sign", kStream).value()->encode(values);
  ASSERT_EQ(message.size(), (4 + 1u) + (4 + 2u));
  EXPECT_EQ(message[4], 0b010010);
  EXPECT_EQ(message.substr(9), std::string("\xff\x00", 2));
  EXPECT_EQ(decoded(message), (std::vector<float>{3, -3, 3, 3, -3, 3, -1, -1, -1, -1, -1, -1, -1, -1, 1}));
}

TEST(Sign, TakesNumbersThatAreNoneForZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float none : {kInfinity, -kInfinity, std::nanf(""), -std::nanf("")}) {
    std::vector<float> values(15, 2), without = values;
    values[3] = none;
    without[3] = 0;
    const auto codec = make_codec("sign", kStream).value();
    EXPECT_EQ(decoded(codec->encode(values)), decoded(codec->encode(without)));
  }
}

TEST(Sign, RefusesMagnitudesThatCannotBe) {
  const std::string message = make_codec("sign", kStream).value()->encode(std::vector<float>(15, 1));
  for (const float mean : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::string bad = message;
    std::memcpy(bad.data() + 5, &mean, sizeof mean);
    std::vector<float> values(15);
    EXPECT_EQ(make_codec("sign", kStream).value()->decode(bad, values).code(), Code::data_loss) << mean;
  }
}

}  // namespace
}  // namespace mangrove::codec
