// What every codec must do, whatever its row says.
#include "mangrove/codec/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mangrove/base/random.h"

namespace mangrove::codec {
namespace {

const Stream kStream{.layers = {{8, 27}, {1, 8}, {16, 72}, {1, 16}, {10, 64}, {1, 10}}, .seed = 5};

std::vector<float> normal_values(std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(kStream.elements()));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

class EveryCodec : public ::testing::TestWithParam<CodecRow> {
 protected:
  static std::unique_ptr<Codec> make(const Stream& stream = kStream) {
    return make_codec(GetParam().name, stream).value();
  }
};

TEST_P(EveryCodec, DecodesWhatItEncodedTheSameOnEverySide) {
  const auto sender = make(), receiver = make(), other = make();
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::string message = sender->encode(normal_values(round));
    std::vector<float> decoded(static_cast<std::size_t>(kStream.elements()), 7), own = decoded, again = decoded;
    ASSERT_TRUE(sender->decode(message, own).ok());
    ASSERT_TRUE(receiver->decode(message, decoded).ok());
    EXPECT_EQ(decoded, own);
    if (round == 1) continue;  // lost on its way to the other
    ASSERT_TRUE(other->decode(message, again).ok());
    EXPECT_EQ(decoded, again);
    for (const float value : decoded) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(EveryCodec, EncodesTheSameFromTheSameSeed) {
  const auto a = make(), b = make();
  for (std::uint64_t round = 0; round < 2; ++round)
    EXPECT_EQ(a->encode(normal_values(round)), b->encode(normal_values(round)));
}

TEST_P(EveryCodec, KeepsZeros) {
  const std::vector<float> zeros(static_cast<std::size_t>(kStream.elements()), 0);
  std::vector<float> decoded(zeros.size(), 7);
  const auto codec = make();
  ASSERT_TRUE(codec->decode(codec->encode(zeros), decoded).ok());
  EXPECT_EQ(decoded, zeros);
}

TEST_P(EveryCodec, TakesAnEmptyVectorAndSingleNumbers) {
  const auto empty = make({});
  std::vector<float> none;
  EXPECT_TRUE(empty->decode(empty->encode(none), none).ok());
  const auto single = make({.layers = {{1, 1}}});
  std::vector<float> one(1, 7);
  const std::vector<float> value = {2};
  ASSERT_TRUE(single->decode(single->encode(value), one).ok());
  EXPECT_TRUE(std::isfinite(one[0]));
}

TEST_P(EveryCodec, SurvivesNumbersThatAreNone) {
  std::vector<float> values = normal_values(1);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[40] = std::numeric_limits<float>::infinity();
  values[500] = -std::numeric_limits<float>::infinity();
  values[700] = std::numeric_limits<float>::max();
  const auto codec = make();
  std::vector<float> decoded(values.size());
  EXPECT_TRUE(codec->decode(codec->encode(values), decoded).ok());
}

TEST_P(EveryCodec, RefusesOrReadsButNeverCrashesOnGarbage) {
  const std::string whole = make()->encode(normal_values(1));
  std::vector<float> decoded(static_cast<std::size_t>(kStream.elements()));
  for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 500) {
    EXPECT_EQ(make()->decode(std::string_view(whole).substr(0, length), decoded).code(), Code::data_loss) << length;
  }
  EXPECT_EQ(make()->decode(whole + "x", decoded).code(), Code::data_loss);
  Random random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = random.below(2) == 0 ? whole : std::string(random.below(2 * whole.size() + 1), '\0');
    if (bytes.empty()) continue;
    for (std::uint64_t flips = 1 + random.below(6); flips > 0; --flips)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const Status status = make()->decode(bytes, decoded);
    EXPECT_TRUE(status.ok() || status.code() == Code::data_loss);
  }
}

class UnbiasedCodec : public EveryCodec {};

// Elements are taken together by magnitude: one that is rarely sent may be missing from all rounds.
TEST_P(UnbiasedCodec, HasTheMeanOfWhatWasEncoded) {
  constexpr std::size_t kRounds = 3000, kGroups = 40;
  const std::vector<float> values = normal_values(2);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::abs(values[a]) < std::abs(values[b]); });
  const auto group_sums = [&](const std::vector<float>& numbers) {  // each with the sign that its value has
    std::vector<double> sums(kGroups, 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      sums[i * kGroups / order.size()] += std::copysign(1.0, values[order[i]]) * numbers[order[i]];
    return sums;
  };
  std::vector<double> sum(kGroups, 0), squares(kGroups, 0);
  std::vector<float> decoded(values.size());
  const auto sender = make(), receiver = make();
  for (std::size_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(receiver->decode(sender->encode(values), decoded).ok());
    const std::vector<double> sums = group_sums(decoded);
    for (std::size_t group = 0; group < kGroups; ++group) {
      sum[group] += sums[group];
      squares[group] += sums[group] * sums[group];
    }
  }
  const std::vector<double> expected = group_sums(values);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const double mean = sum[group] / kRounds, variance = squares[group] / kRounds - mean * mean;
    // five standard errors, and what float rounds
    EXPECT_NEAR(mean, expected[group], 5 * std::sqrt(std::max(variance, 0.0) / kRounds) + 1e-3 * expected[group]);
  }
}

std::string name_of(const ::testing::TestParamInfo<CodecRow>& row) {
  return std::string(row.param.name);
}

std::vector<CodecRow> unbiased() {
  std::vector<CodecRow> rows(codecs().begin(), codecs().end());
  std::erase_if(rows, [](const CodecRow& row) { return !row.is_unbiased; });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCodec, ::testing::ValuesIn(codecs().begin(), codecs().end()), name_of);
INSTANTIATE_TEST_SUITE_P(Table, UnbiasedCodec, ::testing::ValuesIn(unbiased()), name_of);

TEST(Codec, SaysWhatIsWrongWithItsText) {
  EXPECT_EQ(find_codec("non").code(), Code::not_found);
  EXPECT_NE(find_codec("non").error().message.find("did you mean 'none'"), std::string::npos);
  EXPECT_EQ(find_codec("none(3)").code(), Code::invalid_argument);
  EXPECT_EQ(find_codec("none(").code(), Code::not_found);
  EXPECT_EQ(find_codec("").code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove::codec
