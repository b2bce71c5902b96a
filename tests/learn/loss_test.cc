#include "mangrove/learn/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::learn {
namespace {

BatchStats softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                                 std::int32_t classes, float scale, std::span<float> gradient) {
  return Loss::create({}).value()(logits, classes, {.labels = labels}, scale, gradient);
}

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

struct LossCase {
  std::int32_t classes;
  std::vector<std::int32_t> labels;
  float scale;
};

class SoftmaxCrossEntropyGradient : public ::testing::TestWithParam<LossCase> {};

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
                         ::testing::Values(LossCase{10, {3, 9, 0, 3, 5, 1, 7}, 1.0f / 7}, LossCase{2, {0, 1}, 1},
                                           LossCase{1, {0}, 1}, LossCase{37, {36, -1, 4}, 2},
                                           LossCase{5, {-1, -1}, 1}));

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

// Sums over the rows, and gradients, by PyTorch 1.13.1 with x = [[.5, -1, 2], [1.5, .25, -.75]], y = [2, 0],
// t = [[0, .3, .7], [.6, .4, 0]], several = [[1, 0, 1], [0, 1, 0]], teacher = [[1, 0, 3], [.5, 2, -1]]:
//   F.cross_entropy(x, y, reduction="sum"), the same with label_smoothing=.1, F.cross_entropy(x, t, reduction="sum"),
//   F.binary_cross_entropy_with_logits(x, several, reduction="sum") / 3, F.mse_loss(x, t, reduction="sum") / 3,
//   16 * F.kl_div(F.log_softmax(x / 4, 1), F.softmax(teacher / 4, 1), reduction="sum")
struct LossReference {
  const char* name;
  float label_smoothing, temperature;
  std::vector<float> dense;  // empty: the labels
  double loss;
  std::vector<double> gradient;
};
const std::vector<float> kLogits{0.5f, -1, 2, 1.5f, 0.25f, -0.75f};
const std::vector<std::int32_t> kLabels{2, 0};
const std::vector<float> kSoft{0, 0.3f, 0.7f, 0.6f, 0.4f, 0};
const std::vector<float> kSeveral{1, 0, 1, 0, 1, 0};
const std::vector<float> kTeacher{1, 0, 3, 0.5f, 2, -1};
const LossReference kLossReferences[] = {
    {"softmax_cross_entropy",
     0,
     1,
     {},
     0.57198393,
     {0.17529039, 0.039112572, -0.21440297, -0.28155965, 0.20583659, 0.075723059}},
    {"softmax_cross_entropy",
     0.1f,
     1,
     {},
     0.83865058,
     {0.14195706, 0.0057792366, -0.14773631, -0.21489298, 0.17250326, 0.042389724}},
    {"softmax_cross_entropy",
     0,
     1,
     kSoft,
     1.971984,
     {0.17529039, -0.26088744, 0.085597038, 0.11844033, -0.19416341, 0.075723059}},
    {"binary_cross_entropy",
     0,
     1,
     kSeveral,
     1.1928302,
     {-0.12584689, 0.089647144, -0.039734326, 0.27252483, -0.14594117, 0.10694043}},
    {"mse", 0, 1, kSoft, 1.6749998, {0.33333334, -0.86666667, 0.86666667, 0.60000002, -0.10000001, -0.5}},
    {"distillation",
     0,
     4,
     kTeacher,
     0.79293346,
     {0.10593688, -0.033986807, -0.071950078, 0.46511281, -0.58054531, 0.11543208}},
};

LossOptions options_of(const LossReference& reference) {
  LossOptions options;
  options.name = reference.name;
  options.label_smoothing = reference.label_smoothing;
  options.temperature = reference.temperature;
  return options;
}

TEST(Loss, EveryRowMatchesPyTorch) {
  for (const LossReference& reference : kLossReferences) {
    std::vector<float> found(kLogits.size());
    const Loss loss = Loss::create(options_of(reference)).value();
    const BatchStats stats = loss(kLogits, 3, {.labels = kLabels, .dense = reference.dense}, 2, found);
    EXPECT_NEAR(stats.loss, reference.loss, 5e-6) << reference.name;
    EXPECT_EQ(stats.count, 2);
    EXPECT_EQ(stats.correct, 2);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], 2 * reference.gradient[i], 1e-6) << reference.name;
  }
  for (const LossRow& row : losses()) {
    const auto is_row = [&](const LossReference& reference) { return row.name == reference.name; };
    EXPECT_TRUE(std::any_of(std::begin(kLossReferences), std::end(kLossReferences), is_row)) << row.name;
  }
}

TEST(Loss, EveryGradientMatchesCentralDifferences) {
  Random random(13);
  for (const LossReference& reference : kLossReferences) {
    const Loss loss = Loss::create(options_of(reference)).value();
    std::vector<float> logits = random_logits(kLogits.size(), random), gradient(logits.size());
    const auto loss_with = [&](std::size_t i, float step) {
      logits[i] += step;
      const double value = loss(logits, 3, {.labels = kLabels, .dense = reference.dense}, 1, {}).loss;
      logits[i] -= step;
      return value;
    };
    loss(logits, 3, {.labels = kLabels, .dense = reference.dense}, 1, gradient);
    for (std::size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(gradient[i], (loss_with(i, kStep) - loss_with(i, -kStep)) / (2 * kStep), 1e-6) << reference.name;
  }
}

TEST(Loss, LabelsAreOneHotTargets) {
  const std::vector<float> one_hot{0, 0, 1, 1, 0, 0};
  for (const char* name : {"softmax_cross_entropy", "binary_cross_entropy", "mse"}) {
    const Loss loss = Loss::create({.name = name}).value();
    std::vector<float> by_label(6), by_target(6);
    const double a = loss(kLogits, 3, {.labels = kLabels}, 1, by_label).loss;
    EXPECT_EQ(a, loss(kLogits, 3, {.labels = kLabels, .dense = one_hot}, 1, by_target).loss) << name;
    EXPECT_EQ(by_label, by_target) << name;
  }
}

TEST(Loss, MixedRowsWeighBothLabels) {
  const std::vector<std::int32_t> second{1, 1};
  const std::vector<float> share{0.7f, 0.4f}, soft{0, 1 - 0.7f, 0.7f, 0.4f, 1 - 0.4f, 0};
  const Loss loss = Loss::create({}).value();
  std::vector<float> mixed(6), expected(6);
  const BatchStats stats = loss(kLogits, 3, {.labels = kLabels, .second = second, .share = share}, 1, mixed);
  EXPECT_DOUBLE_EQ(stats.loss, loss(kLogits, 3, {.labels = kLabels, .dense = soft}, 1, expected).loss);
  EXPECT_EQ(mixed, expected);
  EXPECT_EQ(stats.correct, 1);  // the second row's larger share is of label 1, its largest logit of label 0
}

TEST(Loss, BinaryCrossEntropyOfHugeLogitsDoesNotOverflow) {
  const std::vector<float> logits{1e30f, -1e30f}, targets{0, 0};
  std::vector<float> gradient(2);
  const Loss loss = Loss::create({.name = "binary_cross_entropy"}).value();
  EXPECT_FLOAT_EQ(
      static_cast<float>(loss(logits, 2, {.labels = std::vector<std::int32_t>{0}, .dense = targets}, 1, gradient).loss),
      5e29f);
  EXPECT_EQ(gradient, (std::vector<float>{0.5f, 0}));
}

TEST(Loss, MeasuredWithoutLabelSmoothing) {
  const Loss smooth = Loss::create({.label_smoothing = 0.3f}).value();
  EXPECT_EQ(smooth.unsmoothed()(kLogits, 3, {.labels = kLabels}, 1, {}).loss,
            softmax_cross_entropy(kLogits, kLabels, 3, 1, {}).loss);
}

TEST(Loss, RefusesWhatMakesNoSense) {
  const struct {
    LossOptions options;
    const char* mentioned;
  } bads[] = {
      {{.name = "mean_square"}, "unknown loss"},
      {{.label_smoothing = 1}, "label_smoothing"},
      {{.label_smoothing = std::nanf("")}, "label_smoothing"},
      {{.name = "mse", .label_smoothing = 0.1f}, "takes none"},
      {{.temperature = 0}, "temperature"},
  };
  for (const auto& [options, mentioned] : bads) {
    const auto loss = Loss::create(options);
    ASSERT_FALSE(loss.ok()) << mentioned;
    EXPECT_NE(loss.error().message.find(mentioned), std::string::npos) << loss.error().message;
  }
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
