#include "mangrove/codec/momentum_correction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mangrove/base/random.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kElements = 300;

std::unique_ptr<Codec> make(std::string_view text) {
  return make_codec(text, {.layers = {{1, static_cast<std::int64_t>(kElements)}}, .seed = 1}).value();
}

/// Algorithm 4 of Lin et al. with the clipping of algorithm 3, line by line, for a vector of one layer.
struct DeepGradientCompression {
  double momentum, clip_norm;
  std::size_t count;
  std::vector<double> u = std::vector<double>(kElements, 0), v = u;

  std::vector<double> step(const std::vector<float>& gradient) {
    std::vector<double> g(gradient.begin(), gradient.end());
    double squares = 0;
    for (const double value : g) squares += value * value;
    if (std::sqrt(squares) > clip_norm) {
      for (double& value : g) value *= clip_norm / std::sqrt(squares);
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      u[i] = momentum * u[i] + g[i];
      v[i] = v[i] + u[i];
    }
    std::vector<double> sorted(kElements), sent(kElements, 0);
    std::transform(v.begin(), v.end(), sorted.begin(), [](double value) { return std::abs(value); });
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t i = 0; i < kElements; ++i) {
      if (std::abs(v[i]) < sorted[count - 1]) continue;
      sent[i] = v[i];
      v[i] = u[i] = 0;
    }
    return sent;
  }
};

std::vector<float> gradient(Random& random, double scale) {
  std::vector<float> values(kElements);
  for (float& value : values) value = static_cast<float>(scale * (0.3 + random.normal()));
  return values;
}

TEST(MomentumCorrection, IsThePapersAlgorithm) {
  MomentumCorrection sender(make("top_k(0.05)"), {.momentum = 0.9f, .clip_norm = 20}, kElements);
  DeepGradientCompression paper{.momentum = 0.9, .clip_norm = 20, .count = 15};
  Random random(8);
  std::vector<float> decoded(kElements);
  for (int round = 0; round < 40; ++round) {
    const std::vector<float> values = gradient(random, 0.5 + round % 3);  // some are clipped, some not
    ASSERT_TRUE(sender.decode(sender.encode(values), decoded).ok());
    const std::vector<double> expected = paper.step(values);
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_NEAR(decoded[i], expected[i], 1e-4) << round << " " << i;
      ASSERT_NEAR(sender.velocity()[i], paper.u[i], 1e-4) << round << " " << i;
      ASSERT_NEAR(sender.accumulated()[i], paper.v[i], 1e-4) << round << " " << i;
    }
  }
}

TEST(MomentumCorrection, IsMomentumWhereEverythingIsSentButMasksIt) {
  MomentumCorrection sender(make("none"), {.momentum = 0.9f, .clip_norm = 0}, kElements);
  Random random(8);
  std::vector<float> decoded(kElements);
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> values = gradient(random, 1);
    ASSERT_TRUE(sender.decode(sender.encode(values), decoded).ok());
    EXPECT_EQ(decoded, values) << "every velocity was sent, so each begins anew";
  }
}

TEST(MomentumCorrection, WhatOneCodecLeavesOutGoesOutWithTheNext) {
  MomentumCorrection sender(make("top_k(0.01)"), {.momentum = 0}, kElements);
  Random random(8);
  std::vector<float> decoded(kElements), all(kElements), received(kElements);
  for (int round = 0; round < 4; ++round) {
    if (round == 3) sender.use(make("none"), false);
    const std::vector<float> values = gradient(random, 1);
    ASSERT_TRUE(sender.decode(sender.encode(values), decoded).ok());
    for (std::size_t i = 0; i < kElements; ++i) all[i] += values[i], received[i] += decoded[i];
  }
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(received[i], all[i], 1e-5) << i;
}

TEST(MomentumCorrection, BeginsAnewAfterNumbersThatAreNone) {
  MomentumCorrection sender(make("top_k(0.01)"), {.momentum = 0.9f, .clip_norm = 5}, kElements);
  Random random(8);
  std::vector<float> values = gradient(random, 1);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[4] = std::numeric_limits<float>::infinity();
  sender.encode(values);
  values = gradient(random, 1);
  std::vector<float> decoded(kElements);
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(sender.decode(sender.encode(values), decoded).ok());
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_TRUE(std::isfinite(decoded[i]) && std::isfinite(sender.velocity()[i])) << i;
  }
}

TEST(Dgc, IsMomentumCorrectionOfTopKAfterItsWarmUp) {
  const auto dgc = make("dgc(0.05, 0.8, 3, 0)");
  MomentumCorrection sender(make("top_k(0.05)"), {.momentum = 0.8f, .clip_norm = 3}, kElements);
  Random random(8);
  for (int round = 0; round < 5; ++round) {
    const std::vector<float> values = gradient(random, 1);
    EXPECT_EQ(dgc->encode(values), sender.encode(values));
  }
}

}  // namespace
}  // namespace mangrove::codec
