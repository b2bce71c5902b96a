#include "mangrove/learn/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mangrove::learn {
namespace {

struct MetricsCase {
  std::string name;
  std::int32_t classes;
  std::vector<std::int64_t> counts;  // rows are true classes
  double accuracy;
  double macro_f1;
};

class Scores : public ::testing::TestWithParam<MetricsCase> {};

TEST_P(Scores, MatchHandComputedValues) {
  const auto matrix = ConfusionMatrix::from_counts(GetParam().classes, GetParam().counts);
  ASSERT_TRUE(matrix.ok());
  EXPECT_NEAR(matrix->accuracy(), GetParam().accuracy, 1e-12);
  EXPECT_NEAR(matrix->macro_f1(), GetParam().macro_f1, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(HandComputed, Scores,
                         ::testing::Values(
                             // P = 50/60, R = 50/55 and P = 40/45, R = 40/50: F1 20/23 and 16/19
                             MetricsCase{"two_classes", 2, {50, 5, 10, 40}, 90.0 / 105, (20.0 / 23 + 16.0 / 19) / 2},
                             MetricsCase{"perfect", 3, {4, 0, 0, 0, 5, 0, 0, 0, 6}, 1, 1},
                             MetricsCase{"all_wrong", 2, {0, 3, 4, 0}, 0, 0},
                             MetricsCase{"empty", 3, std::vector<std::int64_t>(9), 0, 0},
                             // class 2 is neither true nor predicted: it is left out of the mean
                             MetricsCase{"absent_class", 3, {3, 1, 0, 1, 5, 0, 0, 0, 0}, 0.8, (0.75 + 5.0 / 6) / 2},
                             // class 1 is never predicted, class 2 never true: both count, with F1 0
                             MetricsCase{"never_predicted", 3, {2, 0, 0, 0, 0, 2, 0, 0, 0}, 0.5, 1.0 / 3},
                             MetricsCase{"one_class", 1, {7}, 1, 1}),
                         [](const auto& test) { return test.param.name; });

TEST(ConfusionMatrix, CountsWhatIsAdded) {
  ConfusionMatrix matrix(3);
  matrix.add(0, 0);
  matrix.add(0, 2);
  matrix.add(0, 2);
  ConfusionMatrix other(3);
  other.add(0, 2);
  other.add(2, 1);
  matrix.add(other);
  EXPECT_EQ(matrix.count(0, 2), 3);
  EXPECT_EQ(matrix.count(2, 0), 0);
  EXPECT_EQ(matrix.total(), 5);
  const std::vector<std::int64_t> counts(matrix.counts().begin(), matrix.counts().end());
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 0, 3, 0, 0, 0, 0, 1, 0}));
}

TEST(ConfusionMatrix, RefusesCountsThatDoNotFit) {
  const std::pair<std::int32_t, std::vector<std::int64_t>> cases[] = {
      {2, {1, 2, 3}}, {2, {1, 2, 3, 4, 5}}, {2, {1, 2, -1, 4}}, {0, {}}, {-3, {1}}};
  for (const auto& [classes, counts] : cases) {
    const auto matrix = ConfusionMatrix::from_counts(classes, counts);
    ASSERT_FALSE(matrix.ok());
    EXPECT_EQ(matrix.code(), Code::invalid_argument);
  }
}

TEST(ConfusionMatrix, TableAlignsNamesAndCounts) {
  const auto matrix = ConfusionMatrix::from_counts(2, {980, 5, 12, 1030});
  const std::vector<std::string> names{"cat", "a"};
  EXPECT_EQ(matrix->to_string(names),
            "true \\ predicted   cat     a\n"
            "cat                980     5\n"
            "a                   12  1030\n");
}

TEST(ConfusionMatrix, TableHasRoomForLongNames) {
  const ConfusionMatrix matrix(1);
  const std::vector<std::string> names{"a name longer than the corner"};
  EXPECT_EQ(matrix.to_string(names),
            "true \\ predicted               a name longer than the corner\n"
            "a name longer than the corner                              0\n");
}

TEST(ArgmaxRows, TakesTheFirstOfEquals) {
  const std::vector<float> logits{1, 3, 2, 5, 5, 4, -1, -2, -1};
  EXPECT_EQ(argmax_rows(logits, 3), (std::vector<std::int32_t>{1, 0, 0}));
  EXPECT_TRUE(argmax_rows({}, 3).empty());
}

}  // namespace
}  // namespace mangrove::learn
