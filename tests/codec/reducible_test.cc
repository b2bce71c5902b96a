#include "mangrove/codec/reducible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"

namespace mangrove::codec {
namespace {

using Vector = std::vector<float>;

// A layer that gets smaller, a bias, one that does not get smaller, and one with more columns than rows.
const Stream kStream{.layers = {{40, 12}, {1, 30}, {3, 2}, {9, 64}}, .seed = 7};
const char* const kLinear[] = {"power(1)", "power(4)", "structured_low_rank(2)"};

Vector normal_vector(std::uint64_t seed) {
  Random random(seed);
  Vector values(static_cast<std::size_t>(kStream.elements()));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

double relative_difference(const Vector& a, const Vector& b) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    whole += double{b[i]} * b[i];
  }
  return std::sqrt(difference / whole);
}

Vector added(const std::vector<Vector>& vectors) {
  Vector sum(vectors[0].size());
  for (const Vector& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  return sum;
}

/// Senders in one place: a sum over them is what all-reduce would give each of them.
class Senders {
 public:
  Senders(const char* text, std::size_t count) : receiver_(make_codec(text, kStream).value()) {
    for (std::size_t i = 0; i < count; ++i) codecs_.push_back(make_reducible(text, kStream).value());
  }

  Vector sum(const std::vector<Vector>& values) {
    std::vector<std::span<float>> parts;
    for (std::size_t i = 0; i < codecs_.size(); ++i) parts.push_back(codecs_[i]->begin(values[i]));
    while (!parts[0].empty()) {
      summed_ += parts[0].size();
      for (std::size_t element = 0; element < parts[0].size(); ++element) {
        float total = 0;
        for (const auto& part : parts) total += part[element];
        for (const auto& part : parts) part[element] = total;
      }
      for (std::size_t i = 0; i < codecs_.size(); ++i) parts[i] = codecs_[i]->next();
    }
    for (const auto& codec : codecs_) EXPECT_EQ(codec->message(), codecs_[0]->message());
    Vector decoded(values[0].size());
    EXPECT_TRUE(receiver_->decode(codecs_[0]->message(), decoded).ok());
    return decoded;
  }

  Vector contributions() {
    std::vector<Vector> all(codecs_.size(), Vector(static_cast<std::size_t>(kStream.elements())));
    for (std::size_t i = 0; i < codecs_.size(); ++i) codecs_[i]->contribution(all[i]);
    return added(all);
  }

  void keep() {
    for (const auto& codec : codecs_) codec->keep();
  }

  std::string message() const { return codecs_[0]->message(); }
  std::size_t summed() const { return summed_; }  // floats

 private:
  const std::unique_ptr<Codec> receiver_;
  std::vector<std::unique_ptr<ReducibleCodec>> codecs_;
  std::size_t summed_ = 0;
};

// The reference: one sender that has the sum, and sends it with the codec itself.
TEST(ReducibleCodec, SumsAreThoseOfOneSender) {
  for (const char* text : kLinear) {
    for (const std::size_t count : {1, 2, 3, 5}) {
      Senders senders(text, count);
      const std::unique_ptr<Codec> alone = make_codec(text, kStream).value();
      for (std::uint64_t round = 0; round < 4; ++round) {
        std::vector<Vector> values;
        for (std::size_t i = 0; i < count; ++i) values.push_back(normal_vector(10 * round + i));
        Vector expected(values[0].size());
        ASSERT_TRUE(alone->decode(alone->encode(added(values)), expected).ok());
        EXPECT_LT(relative_difference(senders.sum(values), expected), 1e-4) << text << ", " << count << ", " << round;
        senders.keep();
      }
    }
  }
}

TEST(ReducibleCodec, ContributionsAddUpToTheSum) {
  for (const char* text : kLinear) {
    Senders senders(text, 3);
    for (std::uint64_t round = 0; round < 3; ++round) {
      const Vector sum = senders.sum({normal_vector(round), normal_vector(round + 50), normal_vector(round + 90)});
      EXPECT_LT(relative_difference(senders.contributions(), sum), 1e-5) << text;
      senders.keep();
    }
  }
}

// A sum that nobody made use of leaves nothing behind: another one in its place is as if it had never been.
TEST(ReducibleCodec, OnlyKeptSumsCount) {
  for (const char* text : kLinear) {
    Senders disturbed(text, 2), plain(text, 2);
    for (std::uint64_t round = 0; round < 3; ++round) {
      const std::vector<Vector> values = {normal_vector(round), normal_vector(round + 50)};
      disturbed.sum({normal_vector(round + 70), normal_vector(round + 80)});
      disturbed.sum(values);
      plain.sum(values);
      EXPECT_EQ(disturbed.message(), plain.message()) << text << ", " << round;
      disturbed.keep();
      plain.keep();
    }
  }
}

// What is summed is what a message has, but for its round.
TEST(ReducibleCodec, NoMoreIsSummedThanAMessageHas) {
  for (const char* text : kLinear) {
    Senders senders(text, 2);
    senders.sum({normal_vector(1), normal_vector(2)});
    EXPECT_LE(senders.summed() * sizeof(float), senders.message().size()) << text;
    EXPECT_GE(senders.summed() * sizeof(float) + sizeof(std::uint64_t), senders.message().size()) << text;
    EXPECT_LT(senders.summed(), static_cast<std::size_t>(kStream.elements())) << text;
  }
}

TEST(ReducibleCodec, NoNumbersAreZero) {
  for (const char* text : kLinear) {
    Senders senders(text, 2);
    Vector broken = normal_vector(1);
    broken[3] = std::numeric_limits<float>::quiet_NaN();
    broken[490] = std::numeric_limits<float>::infinity();
    const Vector sum = senders.sum({broken, normal_vector(2)});
    EXPECT_TRUE(std::all_of(sum.begin(), sum.end(), [](float value) { return std::isfinite(value); })) << text;
  }
}

TEST(ReducibleCodec, OthersAreNotLinear) {
  for (const char* text : {"none", "int8", "top_k(0.1)", "one_bit"})
    EXPECT_EQ(make_reducible(text, kStream).value(), nullptr) << text;
  EXPECT_EQ(make_reducible("powr", kStream).code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove::codec
