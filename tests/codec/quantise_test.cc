// Of the codecs that quantise: sizes, bit patterns, and the error bounds of their papers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"

namespace mangrove::codec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

Stream one_layer(std::size_t elements) {
  return {.layers = {{1, static_cast<std::int64_t>(elements)}}, .seed = 3};
}

std::vector<float> normal_values(std::size_t elements, float deviation = 1) {
  Random random(8);
  std::vector<float> values(elements);
  for (float& value : values) value = deviation * static_cast<float>(random.normal());
  return values;
}

std::vector<float> decoded(Codec& codec, const std::vector<float>& values) {
  std::vector<float> result(values.size(), 7);
  EXPECT_TRUE(codec.decode(codec.encode(values), result).ok());
  return result;
}

std::vector<float> decoded(std::string_view text, const std::vector<float>& values) {
  return decoded(*make_codec(text, one_layer(values.size())).value(), values);
}

std::size_t bytes_of(std::string_view text, const Stream& stream) {
  const std::vector<float> values = normal_values(static_cast<std::size_t>(stream.elements()));
  return make_codec(text, stream).value()->encode(values).size();
}

double squared_norm(const std::vector<float>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum;
}

float float_at(const std::string& message, std::size_t place) {
  float value = 0;
  std::memcpy(&value, message.data() + place, sizeof value);
  return value;
}

TEST(Quantise, MessagesHaveTheirSize) {
  const Stream stream{.layers = {{4, 150}, {0, 0}, {1, 4}, {1, 1}}};
  EXPECT_EQ(bytes_of("fp16", stream), 2 * 605u);
  EXPECT_EQ(bytes_of("bf16", stream), 2 * 605u);
  EXPECT_EQ(bytes_of("int8", stream), 605u + 5 * 4u);                       // blocks of 256, 256, 88; 4; 1
  EXPECT_EQ(bytes_of("one_bit", stream), (8 + 75u) + (8 + 1) + (8 + 1));    // parts of 4 rows; 1; 1
  EXPECT_EQ(bytes_of("one_bit", one_layer(5000)), 8 + 625u);                // a row is not cut
  EXPECT_EQ(bytes_of("one_bit", {.layers = {{10, 500}}}), 5 * (8 + 125u));  // two rows each
  EXPECT_EQ(bytes_of("terngrad", stream), (4 + 120u) + (4 + 1) + (4 + 1));  // five in a byte
  EXPECT_LT(static_cast<double>(bytes_of("qsgd", one_layer(51'200))), 51'200 * 3.8 / 8);     // bits each
  EXPECT_LT(static_cast<double>(bytes_of("qsgd(1)", one_layer(51'200))), 51'200 * 0.4 / 8);  // nearly all are 0
}

struct Pattern {
  float value;
  std::uint16_t bits;
};

void expect_patterns(std::string_view text, const std::vector<Pattern>& patterns) {
  for (const Pattern& pattern : patterns) {
    for (const std::uint16_t sign : {std::uint16_t{0}, std::uint16_t{0x8000}}) {
      const std::string message =
          make_codec(text, one_layer(1)).value()->encode(std::vector{sign != 0 ? -pattern.value : pattern.value});
      std::uint16_t bits = 0;
      ASSERT_EQ(message.size(), sizeof bits);
      std::memcpy(&bits, message.data(), sizeof bits);
      EXPECT_EQ(bits, pattern.bits | sign) << text << " of " << pattern.value;
    }
  }
}

TEST(Fp16, RoundsToNearestOrEvenAndKeepsFiniteNumbersFinite) {
  expect_patterns("fp16", {
                              {0, 0},
                              {1, 0x3c00},
                              {0.1f, 0x2e66},
                              {1 + 0x1p-11f, 0x3c00},                         // between two: the even one
                              {1 + 3 * 0x1p-11f, 0x3c02},                     // so upwards
                              {1 + 0x1p-11f + 0x1p-23f, 0x3c01},              // more than half
                              {2 - 0x1p-12f, 0x4000},                         // into the next exponent
                              {0x1p-14f, 0x0400},                             // least normal
                              {0x1p-14f - 0x1p-24f, 0x03ff},                  // largest subnormal
                              {0x1p-14f - 0x1p-26f, 0x0400},                  // rounds to a normal
                              {0x1p-24f, 0x0001},                             // least subnormal
                              {3 * 0x1p-25f, 0x0002},                         // between two: the even one
                              {0x1p-25f, 0x0000},                             // between two: the even one
                              {0x1p-25f + 0x1p-40f, 0x0001},                  // more than half
                              {std::numeric_limits<float>::denorm_min(), 0},  // a subnormal float32
                              {65504, 0x7bff},                                // largest
                              {65519, 0x7bff},
                              {65520, 0x7bff},  // IEEE would round to infinity
                              {kLargest, 0x7bff},
                              {kInfinity, 0x7c00},
                              {std::numeric_limits<float>::quiet_NaN(), 0x7e00},
                          });
}

TEST(Bf16, RoundsToNearestOrEvenAndKeepsFiniteNumbersFinite) {
  expect_patterns("bf16", {
                              {0, 0},
                              {1, 0x3f80},
                              {0.1f, 0x3dcd},
                              {1 + 0x1p-8f, 0x3f80},             // between two: the even one
                              {1 + 3 * 0x1p-8f, 0x3f82},         // so upwards
                              {1 + 0x1p-8f + 0x1p-23f, 0x3f81},  // more than half
                              {2 - 0x1p-9f, 0x4000},             // into the next exponent
                              {0x1p-126f, 0x0080},               // least normal
                              {0x1p-126f - 0x1p-149f, 0x0080},   // rounds to it
                              {0x1p-133f, 0x0001},               // least subnormal
                              {0x1p-134f, 0x0000},               // between two: the even one
                              {0x1p-134f + 0x1p-149f, 0x0001},   // more than half
                              {0x1.fep127f, 0x7f7f},             // largest
                              {kLargest, 0x7f7f},                // rounding would give infinity
                              {kInfinity, 0x7f80},
                              {std::numeric_limits<float>::quiet_NaN(), 0x7fc0},
                          });
}

/// What 16 bits mean by the definition of such formats.
double meaning(unsigned bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits & 0x7fff) >> fraction_bits;
  const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                         : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits >= 0x8000 ? -magnitude : magnitude;
}

TEST(SixteenBits, EveryPatternMeansItsNumberAndEncodesToItself) {
  for (const auto& [text, exponent_bits] : {std::pair{"fp16", 5}, {"bf16", 8}}) {
    const auto codec = make_codec(text, one_layer(1 << 16)).value();
    std::string message(2 << 16, '\0');
    for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) std::memcpy(&message[2 * bits], &bits, 2);
    std::vector<float> values(1 << 16);
    ASSERT_TRUE(codec->decode(message, values).ok());
    const unsigned infinity = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
    for (unsigned bits = 0; bits < 1 << 16; ++bits) {
      if ((bits & 0x7fff) > infinity) {
        EXPECT_TRUE(std::isnan(values[bits])) << text << " " << bits;
      } else if ((bits & 0x7fff) == infinity) {
        EXPECT_EQ(values[bits], bits >= 0x8000 ? -kInfinity : kInfinity) << text;
      } else {
        ASSERT_EQ(values[bits], meaning(bits, exponent_bits)) << text << " " << bits;
      }
    }
    const std::string again = codec->encode(values);
    for (std::size_t bits = 0; bits < 1 << 16; ++bits) {
      if (std::isnan(values[bits])) continue;
      ASSERT_EQ(again.substr(2 * bits, 2), message.substr(2 * bits, 2)) << text;
    }
  }
}

TEST(Int8, IsAtMostAScaleAway) {
  std::vector<float> values = normal_values(100 * 256);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::pow(10.0f, static_cast<float>(i / 256) / 3 - 16);
  const std::vector<float> result = decoded("int8", values);
  for (std::size_t block = 0; block < values.size(); block += 256) {
    float largest = 0;
    for (std::size_t i = block; i < block + 256; ++i) largest = std::max(largest, std::abs(values[i]));
    for (std::size_t i = block; i < block + 256; ++i) ASSERT_NEAR(result[i], values[i], 1.0001f * largest / 127) << i;
  }
}

TEST(Int8, KeepsWholeScalesAndTheirSigns) {
  std::vector<float> values(255);
  std::iota(values.begin(), values.end(), -127.0f);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(decoded("int8", values), values);
}

TEST(Quantise, OneValueThatIsNoneDoesNotSpoilTheOthers) {
  for (const char* text : {"int8", "one_bit", "terngrad", "qsgd"}) {
    for (const float none : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> values = normal_values(256), without = values;
      values[5] = none;
      without[5] = 0;
      EXPECT_EQ(decoded(text, values), decoded(text, without)) << text;
    }
  }
}

TEST(Quantise, ExtremeMagnitudesStayFiniteWhereTheyAreDecodable) {
  for (const char* text : {"int8", "one_bit", "terngrad", "qsgd"}) {
    for (const float magnitude : {std::numeric_limits<float>::denorm_min(), 1e-38f, 1e-20f, 1e20f, kLargest / 2}) {
      std::vector<float> values(600, magnitude);
      for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -magnitude / 3;
      for (const float value : decoded(text, values)) ASSERT_TRUE(std::isfinite(value)) << text << " " << magnitude;
    }
  }
}

TEST(OneBit, SendsTheMeansOfEachSign) {
  const std::vector<float> values = {1, -2, 3, 0, -4, 8};
  EXPECT_EQ(decoded("one_bit", values), (std::vector<float>{3, -3, 3, 3, -3, 3}));
  EXPECT_EQ(decoded("one_bit", {-1, -3}), (std::vector<float>{-2, -2}));
  const std::string message = make_codec("one_bit", one_layer(6)).value()->encode(values);
  EXPECT_EQ(float_at(message, 0), -3);
  EXPECT_EQ(float_at(message, 4), 3);
  EXPECT_EQ(message[8], 0b101101);
}

TEST(OneBit, LongRowsHaveMeansOfTheirOwn) {
  std::vector<float> values(1200, 1);
  std::fill(values.begin() + 600, values.end(), 5.0f);
  const auto codec = make_codec("one_bit", {.layers = {{2, 600}}}).value();
  EXPECT_EQ(decoded(*codec, values), values);
}

TEST(TernGrad, HasTheRightMeanWithinTheClip) {
  constexpr int kRounds = 4000;
  const std::vector<float> values = normal_values(500);
  const double clip = 2.5 * std::sqrt(squared_norm(values) / 500);
  const auto codec = make_codec("terngrad", one_layer(500)).value();
  std::vector<double> sum(values.size(), 0);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<float> result = decoded(*codec, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(result[i] == 0 || std::abs(std::abs(result[i]) - clip) < 1e-5) << result[i];
      ASSERT_GE(result[i] * values[i], 0);
      sum[i] += result[i];
    }
  }
  int clipped = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double right = std::clamp<double>(values[i], -clip, clip), probability = std::abs(right) / clip;
    clipped += std::abs(values[i]) > clip;
    // five standard errors of a Bernoulli trial
    ASSERT_NEAR(sum[i] / kRounds, right, 5 * clip * std::sqrt(probability * (1 - probability) / kRounds) + 1e-3) << i;
  }
  EXPECT_GT(clipped, 0);
}

TEST(TernGrad, KeepsASingleNumber) {
  EXPECT_EQ(decoded("terngrad", {-0.25f}), std::vector<float>{-0.25f});
}

TEST(TernGrad, RefusesBytesThatAreNoFiveTrits) {
  const auto codec = make_codec("terngrad", one_layer(5)).value();
  std::string message = codec->encode(std::vector<float>(5, 1));
  std::vector<float> values(5);
  EXPECT_TRUE(codec->decode(message, values).ok());
  message[4] = static_cast<char>(243);
  EXPECT_EQ(codec->decode(message, values).code(), Code::data_loss);
}

TEST(Quantise, RefusesScalesThatAreNone) {
  for (const char* text : {"int8", "one_bit", "terngrad"}) {
    const auto codec = make_codec(text, one_layer(5)).value();
    const std::string message = codec->encode(std::vector<float>(5, 1));
    for (const float scale : {kInfinity, std::numeric_limits<float>::quiet_NaN(), text[0] == 'o' ? 1.0f : -1.0f}) {
      std::string bad = message;
      std::memcpy(bad.data(), &scale, sizeof scale);
      std::vector<float> values(5);
      EXPECT_EQ(codec->decode(bad, values).code(), Code::data_loss) << text << " " << scale;
    }
  }
}

TEST(Qsgd, KeepsThePapersVarianceBound) {
  constexpr int kRounds = 400;
  const std::vector<float> values = normal_values(512);
  for (const int levels : {1, 4, 16, 64, 255}) {
    const auto codec = make_codec("qsgd(" + std::to_string(levels) + ")", one_layer(512)).value();
    double mean = 0;
    for (int round = 0; round < kRounds; ++round) mean += squared_distance(decoded(*codec, values), values) / kRounds;
    const double n = 512, bound = std::min(n / (levels * levels), std::sqrt(n) / levels) * squared_norm(values);
    EXPECT_LT(mean, bound) << levels;
  }
}

TEST(Qsgd, IsWithinOneLevel) {
  const std::vector<float> values = normal_values(512, 1e-3f);
  const std::vector<float> result = decoded("qsgd(100)", values);
  const double step = std::sqrt(squared_norm(values)) / 100;
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(result[i], values[i], 1.0001 * step) << i;
}

TEST(Qsgd, TakesFewerBytesOfFewerLevels) {
  const Stream stream = one_layer(20'000);
  std::size_t more = bytes_of("qsgd(1024)", stream);
  for (const char* text : {"qsgd(255)", "qsgd(64)", "qsgd(16)", "qsgd(4)", "qsgd(1)"}) {
    const std::size_t bytes = bytes_of(text, stream);
    EXPECT_LT(bytes, more) << text;
    more = bytes;
  }
  EXPECT_EQ(find_codec("qsgd(0)").code(), Code::invalid_argument);
  EXPECT_EQ(find_codec("qsgd(1.5)").code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::codec
