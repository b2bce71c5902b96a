#include "mangrove/codec/range_coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::codec {
namespace {

constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();

std::string encoded(const std::vector<std::uint32_t>& numbers) {
  std::string message;
  RangeEncoder encoder(message);
  IntegerModel model;
  for (const std::uint32_t number : numbers) model.write(encoder, number);
  encoder.finish();
  return message;
}

Status decode(std::string_view message, std::vector<std::uint32_t>& numbers, std::uint32_t most = kLargest) {
  RangeDecoder decoder(message);
  IntegerModel model;
  for (std::uint32_t& number : numbers) number = model.read(decoder, most);
  return decoder.finish();
}

void expect_same_back(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint32_t> decoded(numbers.size());
  ASSERT_TRUE(decode(encoded(numbers), decoded).ok());
  EXPECT_EQ(decoded, numbers);
}

/// Of the numbers' own frequencies, in bytes.
double entropy_bytes(const std::vector<std::uint32_t>& numbers) {
  std::map<std::uint32_t, double> counts;
  for (const std::uint32_t number : numbers) ++counts[number];
  double bits = 0;
  for (const auto& [number, count] : counts) bits -= count * std::log2(count / static_cast<double>(numbers.size()));
  return bits / 8;
}

TEST(RangeCoder, BitsTakeTheirEntropy) {
  constexpr int kBits = 200'000;
  for (const double probability : {0.5, 0.2, 0.03, 0.01}) {
    Random random(1);
    std::vector<std::uint32_t> bits(kBits);
    for (std::uint32_t& bit : bits) bit = random.uniform() < probability ? 1 : 0;
    std::string message;
    RangeEncoder encoder(message);
    BitModel model;
    for (const std::uint32_t bit : bits) encoder.write(model, bit == 1);
    encoder.finish();
    EXPECT_LT(static_cast<double>(message.size()), 1.02 * entropy_bytes(bits) + 4) << probability;

    RangeDecoder decoder(message);
    BitModel same;
    for (std::size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(decoder.read(same), bits[i] == 1) << i;
    EXPECT_TRUE(decoder.finish().ok());
  }
}

TEST(RangeCoder, SmallNumbersTakeTheirEntropyWhateverTheirFrequencies) {
  Random random(2);
  for (const std::uint32_t kinds : {2u, 3u, 5u, 15u}) {
    std::vector<double> weights(kinds);
    for (double& weight : weights) weight = std::pow(random.uniform(), 3);
    std::vector<std::uint32_t> numbers(200'000);
    for (std::uint32_t& number : numbers) {
      do {
        number = static_cast<std::uint32_t>(random.below(kinds));
      } while (random.uniform() > weights[number]);
    }
    expect_same_back(numbers);
    EXPECT_LT(static_cast<double>(encoded(numbers).size()), 1.02 * entropy_bytes(numbers) + 32) << kinds;
  }
}

TEST(RangeCoder, GapsOfAnyDensityTakeTheirEntropy) {
  for (const double density : {0.3, 0.01, 0.0005}) {
    Random random(3);
    std::vector<std::uint32_t> gaps(100'000);
    for (auto& gap : gaps) gap = static_cast<std::uint32_t>(std::log(1 - random.uniform()) / std::log1p(-density));
    expect_same_back(gaps);
    const double bits = -std::log2(density) - (1 - density) / density * std::log2(1 - density);
    EXPECT_LT(static_cast<double>(encoded(gaps).size()), 1.02 * bits / 8 * static_cast<double>(gaps.size())) << density;
  }
}

TEST(RangeCoder, NumbersOfEverySizeComeBack) {
  std::vector<std::uint32_t> numbers = {0, kLargest, kLargest - 1};
  for (int shift = 0; shift < 32; ++shift) {
    for (const std::uint32_t near : {0u, 1u, 2u}) numbers.push_back((1u << shift) - 1 + near);
  }
  Random random(4);
  for (int i = 0; i < 10'000; ++i)
    numbers.push_back(static_cast<std::uint32_t>(random.next() >> (32 + random.below(32))));
  expect_same_back(numbers);
  expect_same_back({});
  expect_same_back({7});
}

TEST(RangeCoder, CarriesRunThroughManyBytes) {
  // numbers that leave the encoder with both 7f ff ff ... and 80 00 00 ... open until the last decides
  const std::string border = '\x80' + std::string(100, '\0');
  RangeDecoder undecided(border);
  std::vector<std::uint32_t> numbers(40);
  for (std::uint32_t& number : numbers) number = undecided.read_evenly(16);
  for (const auto& [last, first_bytes] : {std::pair{0u, "ab\x7f\xff\xff\xff"}, {0xffffu, "ab\x80\0\0\0"}}) {
    std::string message = "ab";  // of somebody else
    RangeEncoder encoder(message);
    for (const std::uint32_t number : numbers) encoder.write_evenly(number, 16);
    encoder.write_evenly(last, 16);
    encoder.finish();
    EXPECT_EQ(message.substr(0, 6), std::string_view(first_bytes, 6));
    RangeDecoder decoder(std::string_view(message).substr(2));
    for (const std::uint32_t number : numbers) ASSERT_EQ(decoder.read_evenly(16), number);
    EXPECT_EQ(decoder.read_evenly(16), last);
    EXPECT_TRUE(decoder.finish().ok());
  }
}

TEST(RangeCoder, TakesOnlyWholeMessages) {
  Random random(5);
  std::vector<std::uint32_t> numbers(200), decoded(200);
  for (auto& number : numbers) number = static_cast<std::uint32_t>(random.next() >> (32 + random.below(32)));
  const std::string message = encoded(numbers);
  for (std::size_t length = 0; length < message.size(); ++length)
    EXPECT_EQ(decode(message.substr(0, length), decoded).code(), Code::data_loss) << length;
  for (const char byte : {'\0', 'x'}) EXPECT_EQ(decode(message + byte, decoded).code(), Code::data_loss);
}

TEST(RangeCoder, RefusesGarbageAndReadsItWithinBounds) {
  Random random(6);
  for (int trial = 0; trial < 500; ++trial) {
    std::string garbage(random.below(300), '\0');
    for (char& byte : garbage) byte = static_cast<char>(trial == 0 ? 0xff : random.below(256));
    std::vector<std::uint32_t> decoded(400);
    EXPECT_EQ(decode(garbage, decoded, 1000).code(), Code::data_loss);
    EXPECT_LE(*std::max_element(decoded.begin(), decoded.end()), 1000u);
  }
}

TEST(RangeCoder, RefusesNumbersAboveTheBound) {
  std::vector<std::uint32_t> decoded(2);
  const std::string message = encoded({5, 6});
  EXPECT_TRUE(decode(message, decoded, 6).ok());
  EXPECT_EQ(decode(message, decoded, 5).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::codec
