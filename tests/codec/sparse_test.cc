// What the sparsifying codecs keep, in how many bytes, and what they make of hostile messages.
#include "mangrove/codec/sparse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"
#include "mangrove/codec/largest.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kElements = 10000;

std::unique_ptr<Codec> make(std::string_view text, std::size_t elements = kElements, std::uint64_t seed = 1) {
  return make_codec(text, {.layers = {{1, static_cast<std::int64_t>(elements)}}, .seed = seed}).value();
}

std::vector<float> normal_values(std::size_t elements = kElements, std::uint64_t seed = 9) {
  Random random(seed);
  std::vector<float> values(elements);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::vector<float> laplace_values(std::size_t elements) {
  Random random(4);
  std::vector<float> values(elements);
  for (float& value : values) {
    value = static_cast<float>((random.below(2) == 0 ? -1.0 : 1.0) * -std::log(1 - random.uniform()));
  }
  return values;
}

std::vector<float> decoded(Codec& codec, const std::string& message, std::size_t elements = kElements) {
  std::vector<float> values(elements, 7);
  EXPECT_TRUE(codec.decode(message, values).ok());
  return values;
}

std::size_t nonzero(const std::vector<float>& values) {
  return values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0f));
}

double squared_norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

TEST(TopK, KeepsTheLargestAsTheyAreAndNothingElse) {
  const auto codec = make("top_k(0.02)");
  const std::vector<float> values = normal_values();
  std::vector<float> expected(kElements, 0);
  for (const std::uint32_t index : largest(values, 200)) expected[index] = values[index];
  EXPECT_EQ(nonzero(expected), 200u);
  EXPECT_EQ(decoded(*codec, codec->encode(values)), expected);
}

TEST(TopK, TakesFourBytesForAValueAndOneForEachSevenBitsOfAGap) {
  std::vector<float> values(kElements, 0);
  values[0] = 1;       // a gap of 0: one byte
  values[128] = -2;    // 127: one
  values[257] = 3;     // 128: two
  values[9999] = 0.5;  // 9741: two
  const auto codec = make("top_k(0.5)");
  const std::string message = codec->encode(values);
  EXPECT_EQ(message.size(), 1u + 4 * 4 + 1 + 1 + 2 + 2);
  EXPECT_EQ(decoded(*codec, message), values);
  EXPECT_EQ(make("threshold(0.4)")->encode(values), message);
  EXPECT_EQ(make("threshold(0.5)")->encode(values).size(), message.size() - 6);
}

TEST(TopK, KeepsAnotherFractionFromThenOn) {
  const std::vector<float> values = normal_values();
  for (const char* text : {"top_k(0.1)", "random_k(0.1)", "two_step(0.1)"}) {
    const auto sender = make(text), receiver = make(text);
    EXPECT_EQ(nonzero(decoded(*receiver, sender->encode(values))), 1000u) << text;
    sender->set_fraction(0.003);
    EXPECT_EQ(nonzero(decoded(*receiver, sender->encode(values))), 30u) << text;
  }
}

TEST(RandomK, SendsNoPlacesAndDrawsNewOnesEachRound) {
  const auto sender = make("random_k(0.01)"), receiver = make("random_k(0.01)");
  const std::vector<float> values = normal_values();
  const std::string first = sender->encode(values), second = sender->encode(values);
  EXPECT_EQ(first.size(), 1u + 1 + 4 * 100);
  const std::vector<float> later = decoded(*receiver, second), earlier = decoded(*receiver, first);
  EXPECT_EQ(nonzero(earlier), 100u);
  EXPECT_NE(earlier, later);
  for (std::size_t i = 0; i < kElements; ++i) {
    if (earlier[i] != 0) {
      EXPECT_FLOAT_EQ(earlier[i], 100 * values[i]);
    }
  }
  const auto other_seed = make("random_k(0.01)", kElements, 2);
  EXPECT_NE(decoded(*other_seed, first), earlier);
}

TEST(RandomK, KeepsEverythingIfAskedTo) {
  const auto codec = make("random_k(1)");
  const std::vector<float> values = normal_values();
  EXPECT_EQ(decoded(*codec, codec->encode(values)), values);
}

TEST(Threshold, KeepsWhatIsAboveIt) {
  const auto codec = make("threshold(1.5)");
  const std::vector<float> values = normal_values(), kept = decoded(*codec, codec->encode(values));
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_EQ(kept[i], std::abs(values[i]) > 1.5f ? values[i] : 0.0f);
}

/// Algorithm 3 of Wangni et al., line by line: the probability of each element.
std::vector<double> wangni_probabilities(const std::vector<float>& g, double kappa) {
  const auto d = static_cast<double>(g.size());
  double sum = 0;
  for (const float value : g) sum += std::abs(value);
  std::vector<double> p;
  for (const float value : g) p.push_back(std::min(kappa * d * std::abs(value) / sum, 1.0));
  for (double c = 2; c > 1;) {
    double active = 0, active_sum = 0;
    for (const double probability : p) {
      if (probability == 1) continue;
      ++active;
      active_sum += probability;
    }
    c = (kappa * d - d + active) / active_sum;
    if (c <= 1) break;
    for (double& probability : p) probability = std::min(c * probability, 1.0);
  }
  return p;
}

TEST(Variance, KeepsAsManyAsAskedWithTheVarianceOfThePaper) {
  std::vector<float> heavy = laplace_values(kElements);  // cubed: some are kept always
  for (float& value : heavy) value = value * value * value;
  for (const auto& [values, density] : {std::pair{normal_values(), 0.01}, {normal_values(), 0.6}, {heavy, 0.05}}) {
    const auto codec = make("variance(" + std::to_string(density) + ")");
    double kept = 0, squares = 0;
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<float> result = decoded(*codec, codec->encode(values));
      kept += static_cast<double>(nonzero(result)) / kRounds;
      squares += squared_norm(result) / kRounds;
    }
    const double expected = density * kElements;
    EXPECT_NEAR(kept, expected, 5 * std::sqrt(expected / kRounds));
    const std::vector<double> p = wangni_probabilities(values, density);
    double second_moment = 0;
    for (std::size_t i = 0; i < kElements; ++i) second_moment += values[i] == 0 ? 0 : values[i] * values[i] / p[i];
    EXPECT_NEAR(squares, second_moment, 0.03 * second_moment);
    EXPECT_LT(squares, 0.8 * squared_norm(values) / density) << "which places drawn evenly would have";
  }
}

TEST(Variance, SendsOnlySignsOfWhatItDraws) {
  const auto codec = make("variance(0.01)");
  const std::vector<float> values = normal_values();
  const std::string message = codec->encode(values);
  const std::size_t kept = nonzero(decoded(*codec, message));
  EXPECT_LT(message.size(), 1 + 4 + 1 + 2 * kept);  // a value would take four bytes more
  const auto all = make("variance(1)");
  const std::vector<float> whole = decoded(*all, all->encode(values));
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_FLOAT_EQ(whole[i], values[i]);
}

TEST(TwoStep, IsNearEachKeptValue) {
  for (const int bits : {1, 3, 5}) {
    const auto codec = make("two_step(0.05," + std::to_string(bits) + ")");
    const std::vector<float> values = laplace_values(kElements), result = decoded(*codec, codec->encode(values));
    const std::vector<std::uint32_t> kept = largest(values, 500);
    float least = std::numeric_limits<float>::max(), most = 0;
    for (const std::uint32_t index : kept) {
      least = std::min(least, std::abs(values[index]));
      most = std::max(most, std::abs(values[index]));
    }
    EXPECT_EQ(nonzero(result), 500u);
    const float half_a_level = std::pow(most / least, 0.5f / static_cast<float>(1 << (bits - 1)));
    for (const std::uint32_t index : kept) {
      EXPECT_LT(result[index] / values[index], half_a_level * 1.0001f);
      EXPECT_GT(result[index] / values[index], 1 / half_a_level * 0.9999f);
    }
  }
}

TEST(TwoStep, MakesAnUpdateOfAResNetMoreThanTwoThousandTimesSmaller) {
  constexpr std::size_t kResNet20 = 270000;
  for (const auto& values : {normal_values(kResNet20), laplace_values(kResNet20)}) {
    const auto codec = make("two_step(0.001)", kResNet20);
    const std::string message = codec->encode(values);
    EXPECT_EQ(nonzero(decoded(*codec, message, kResNet20)), 270u);
    EXPECT_LT(message.size(), sizeof(float) * kResNet20 / 2000);
  }
}

TEST(TwoStep, StaysFiniteOverTheWholeRangeOfNumbers) {
  const std::vector<float> values = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::denorm_min(), 1};
  for (const int bits : {1, 2, 8}) {
    const auto codec = make("two_step(1," + std::to_string(bits) + ")", 3);
    for (const float value : decoded(*codec, codec->encode(values), 3)) EXPECT_TRUE(std::isfinite(value)) << bits;
  }
}

std::string number(std::uint64_t value) {
  std::string bytes;
  append_number(bytes, value);
  return bytes;
}

TEST(Sparse, NumbersComeBack) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, ~std::uint64_t{0}}) {
    const std::string bytes = number(value) + "rest";
    std::string_view left = bytes;
    EXPECT_EQ(take_number(left), value);
    EXPECT_EQ(left, "rest");
  }
  std::string_view endless = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
  EXPECT_FALSE(take_number(endless).has_value());
}

TEST(Sparse, RefusesHostilePlacesAndCounts) {
  const std::string one(4, '\x01'), two = one + one;
  const std::uint64_t most = ~std::uint64_t{0};
  std::vector<float> values(10);
  const auto code_of = [&](const std::string& message) {
    const Status status = decode_elements(message, values);
    return status.ok() ? 0 : static_cast<int>(status.code());
  };
  constexpr int kDamaged = static_cast<int>(Code::data_loss);
  EXPECT_EQ(code_of(number(2) + two + number(0) + number(8)), 0);
  EXPECT_EQ(code_of(number(2) + two + number(0) + number(9)), kDamaged) << "one beyond the end";
  EXPECT_EQ(code_of(number(2) + two + number(9) + number(0)), kDamaged) << "after the last";
  EXPECT_EQ(code_of(number(2) + two + number(0) + number(most)), kDamaged) << "the same again, by overflow";
  EXPECT_EQ(code_of(number(2) + two + number(5) + number(most - 5)), kDamaged) << "back to the start, by overflow";
  EXPECT_EQ(code_of(number(11) + std::string(44, '\0') + std::string(11, '\0')), kDamaged) << "more than there are";
  EXPECT_EQ(code_of(number(most)), kDamaged);
  EXPECT_EQ(code_of(number(std::uint64_t{1} << 62) + two), kDamaged) << "a size that overflows";
}

TEST(Sparse, CodecsRefuseHostileCounts) {
  std::vector<float> values(kElements);
  const std::uint64_t most = ~std::uint64_t{0};
  for (const std::uint64_t count : {std::uint64_t{kElements + 1}, most, most / 4 + 1}) {
    EXPECT_EQ(make("random_k")->decode(number(3) + number(count), values).code(), Code::data_loss);
    EXPECT_EQ(make("two_step")->decode(number(count) + std::string(100, '\0'), values).code(), Code::data_loss);
    EXPECT_EQ(make("variance")->decode(number(0) + std::string(4, '\0') + number(count), values).code(),
              Code::data_loss);
  }
  const std::string drawn = number(0) + std::string(4, '\0') + number(2) + number(0);
  EXPECT_TRUE(make("variance")->decode(drawn + number(2 * (kElements - 2)), values).ok());
  EXPECT_EQ(make("variance")->decode(drawn + number(2 * (kElements - 1)), values).code(), Code::data_loss);
  EXPECT_EQ(make("variance")->decode(drawn + number(most), values).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::codec
