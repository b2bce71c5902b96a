#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

const Stream kStream{.layers = {{10, 1000}, {1, 20}}, .seed = 1};  // blocks of 4096, 4096, 1024, 512, 256, 16; 16, 4

std::vector<float> normal_values(std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(kStream.elements()));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::unique_ptr<Codec> make(std::string_view text) {
  return make_codec(text, kStream).value();
}

double squared_error(Codec& codec, const std::vector<float>& values) {
  std::vector<float> decoded(values.size());
  EXPECT_TRUE(codec.decode(codec.encode(values), decoded).ok());
  for (std::size_t i = 0; i < values.size(); ++i) decoded[i] -= values[i];
  return sum_of_squares(decoded);
}

TEST(Sketched, IsNearlyExactWithManyLevelsOfAll) {
  const std::vector<float> values = normal_values(2);
  EXPECT_LT(squared_error(*make("sketched(1,8)"), values), 1e-3 * sum_of_squares(values));
}

TEST(Sketched, TakesTheBitsOfWhatItKeeps) {
  const auto codec = make("sketched(0.25,2)");
  const std::size_t levels = (2 * (1024 + 1024 + 256 + 128 + 64 + 4) + 8 + 2) / 8 + 1;  // whole bytes for each block
  EXPECT_EQ(codec->encode(normal_values(2)).size(), 1 + 4 + 8 * 8 + levels);
  codec->set_fraction(1.0 / 8);
  EXPECT_LT(codec->encode(normal_values(2)).size(), 1 + 4 + 8 * 8 + levels / 2 + 8);
}

TEST(Sketched, SpreadsOneLargeElementSoThatItDoesNotSpoilTheOthers) {
  // without the rotation the levels would be as far apart as the large element is large
  std::vector<float> values(normal_values(2).size(), 0.0f);
  values[100] = 1;
  EXPECT_LT(squared_error(*make("sketched(1,2)"), values), 1);
  EXPECT_LT(squared_error(*make("sketched(1,8)"), values), 1e-4);
}

TEST(Sketched, DecodesAnyRoundByItself) {
  const auto sender = make("sketched"), receiver = make("sketched");
  const std::vector<float> values = normal_values(3);
  sender->encode(values);
  const std::string later = sender->encode(values);
  std::vector<float> own(values.size()), decoded(values.size());
  ASSERT_TRUE(sender->decode(later, own).ok());
  ASSERT_TRUE(receiver->decode(later, decoded).ok());
  EXPECT_EQ(own, decoded);
}

TEST(Sketched, RefusesHostileFractionsAndLevels) {
  const auto codec = make("sketched");
  const std::string message = codec->encode(normal_values(2));
  std::vector<float> values(static_cast<std::size_t>(kStream.elements()));
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto code_with = [&](std::size_t place, float number) {
    std::string bad = message;
    std::memcpy(&bad[place], &number, sizeof number);
    return codec->decode(bad, values).code();
  };
  for (const float fraction : {nan, infinity, -1.0f, 0.0f, 1.5f, 0.3f})
    EXPECT_EQ(code_with(1, fraction), Code::data_loss);
  for (const float lowest : {nan, infinity}) EXPECT_EQ(code_with(5, lowest), Code::data_loss);
  for (const float step : {nan, infinity, -1.0f}) EXPECT_EQ(code_with(9, step), Code::data_loss);
}

TEST(Sketched, StaysDecodableOverTheWholeRangeOfNumbers) {
  for (const float magnitude : {std::numeric_limits<float>::denorm_min(), 1e-20f, std::numeric_limits<float>::max()}) {
    std::vector<float> values = normal_values(4);
    for (float& value : values) value = std::copysign(magnitude, value);
    const auto codec = make("sketched(1,1)");
    std::vector<float> decoded(values.size());
    EXPECT_TRUE(codec->decode(codec->encode(values), decoded).ok()) << magnitude;
  }
}

}  // namespace
}  // namespace mangrove::codec
