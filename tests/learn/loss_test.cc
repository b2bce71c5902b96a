#include "mangrove/learn/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::learn {
namespace {

/// Logits are multiples of 1/1024, so that adding a step of 1/1024 to one is exact.
constexpr float kStep = 1.0f / 1024;
std::vector<float> random_logits(std::size_t n, Random& random) {
  std::vector<float> logits(n);
  for (float& x : logits) x = kStep * std::round(static_cast<float>(random.uniform(-4, 4)) / kStep);
  return logits;
}

double loss_of(const std::vector<float>& logits, const std::vector<std::int32_t>& labels, std::int32_t classes) {
  return softmax_cross_entropy(logits, labels, classes, 1, {}).loss;
}

TEST(SoftmaxCrossEntropy, MatchesAHandComputedRow) {
  const std::vector<float> logits{0, std::log(2.0f), std::log(5.0f)};  // softmax: 1/8, 2/8, 5/8
  std::vector<float> gradient(3);
  const BatchStats stats = softmax_cross_entropy(logits, std::vector<std::int32_t>{1}, 3, 4, gradient);
  EXPECT_NEAR(stats.loss, std::log(4.0), 1e-6);
  EXPECT_EQ(stats.correct, 0);
  EXPECT_EQ(stats.count, 1);
  const float expected[] = {4 * 0.125f, 4 * (0.25f - 1), 4 * 0.625f};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-6);
}

struct Case {
  std::int32_t classes;
  std::vector<std::int32_t> labels;
  float scale;
};

class SoftmaxCrossEntropyGradient : public ::testing::TestWithParam<Case> {};

TEST_P(SoftmaxCrossEntropyGradient, MatchesCentralDifferences) {
  const auto& [classes, labels, scale] = GetParam();
  Random random(7);
  std::vector<float> logits = random_logits(labels.size() * static_cast<std::size_t>(classes), random);
  std::vector<float> gradient(logits.size());
  softmax_cross_entropy(logits, labels, classes, scale, gradient);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float kept = logits[i];
    logits[i] = kept + kStep;
    const double above = loss_of(logits, labels, classes);
    logits[i] = kept - kStep;
    const double below = loss_of(logits, labels, classes);
    logits[i] = kept;
    EXPECT_NEAR(gradient[i], scale * (above - below) / (2.0 * kStep), 3e-7 * scale) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxCrossEntropyGradient,
                         ::testing::Values(Case{10, {3, 9, 0, 3, 5, 1, 7}, 1.0f / 7}, Case{2, {0, 1}, 1},
                                           Case{1, {0}, 1}, Case{37, {36, -1, 4}, 2}, Case{5, {-1, -1}, 1}));

TEST(SoftmaxCrossEntropy, RowsWithoutALabelCountForNothing) {
  Random random(11);
  const std::vector<float> logits = random_logits(12, random);
  std::vector<float> gradient(12, 99.0f);
  const std::vector<std::int32_t> labels{2, -1, 0};
  const BatchStats stats = softmax_cross_entropy(logits, labels, 4, 1, gradient);
  EXPECT_EQ(stats.count, 2);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(gradient[i], 0.0f);
  const std::span<const float> x = logits;
  const double first = softmax_cross_entropy(x.subspan(0, 4), std::span(labels).subspan(0, 1), 4, 1, {}).loss;
  const double last = softmax_cross_entropy(x.subspan(8, 4), std::span(labels).subspan(2, 1), 4, 1, {}).loss;
  EXPECT_DOUBLE_EQ(stats.loss, first + last);
}

TEST(SoftmaxCrossEntropy, HugeLogitsDoNotOverflow) {
  constexpr float huge = 1e38f;
  const std::vector<float> logits{huge, -huge, 0, -huge, huge, 0};
  std::vector<float> gradient(6);
  const BatchStats stats = softmax_cross_entropy(logits, std::vector<std::int32_t>{0, 0}, 3, 1, gradient);
  EXPECT_DOUBLE_EQ(stats.loss, 2.0 * huge);
  EXPECT_EQ(stats.correct, 1);
  const std::vector<float> expected{0, 0, 0, -1, 1, 0};
  EXPECT_EQ(gradient, expected);
}

TEST(SoftmaxCrossEntropy, NotANumberShowsInTheLoss) {
  const std::vector<float> logits{0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(loss_of(logits, {0}, 2)));
}

TEST(SoftmaxCrossEntropy, GradientOfARowSumsToZero) {
  Random random(3);
  const std::vector<float> logits = random_logits(10, random);
  std::vector<float> gradient(10);
  softmax_cross_entropy(logits, std::vector<std::int32_t>{6}, 10, 1, gradient);
  double sum = 0;
  for (const float g : gradient) sum += g;
  EXPECT_NEAR(sum, 0, 1e-7);
}

TEST(BatchStats, Add) {
  BatchStats stats{.loss = 1.5, .correct = 2, .count = 3};
  stats += {.loss = 0.25, .correct = 10, .count = 20};
  EXPECT_EQ(stats.loss, 1.75);
  EXPECT_EQ(stats.correct, 12);
  EXPECT_EQ(stats.count, 23);
}

}  // namespace
}  // namespace mangrove::learn
