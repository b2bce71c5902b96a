#include "mangrove/compress/k_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "mangrove/base/random.h"

namespace mangrove::compress {
namespace {

double squared_error(const std::vector<float>& numbers, const Clusters& clusters) {
  double error = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    error += std::pow(static_cast<double>(numbers[i]) - clusters.centres[clusters.of[i]], 2);
  return error;
}

double spread(const std::vector<float>& sorted, std::size_t begin, std::size_t end) {
  double mean = 0, error = 0;
  for (std::size_t i = begin; i < end; ++i) mean += sorted[i] / static_cast<double>(end - begin);
  for (std::size_t i = begin; i < end; ++i) error += std::pow(sorted[i] - mean, 2);
  return error;
}

/// The least squared error of all divisions of sorted numbers into at most `clusters` runs.
double least_error(const std::vector<float>& sorted, std::size_t begin, std::size_t clusters) {
  if (begin == sorted.size()) return 0;
  if (clusters == 0) return std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end <= sorted.size(); ++end)
    best = std::min(best, spread(sorted, begin, end) + least_error(sorted, end, clusters - 1));
  return best;
}

TEST(KMeans, FindsTheBestDivisionOfNumbersInGroups) {
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<float> numbers;
    for (const float group : {-2.0f, -0.7f, 0.7f, 2.0f})  // as far from one another as evenly spread centres
      for (int i = 0; i < 3; ++i) numbers.push_back(group + 0.1f * static_cast<float>(random.normal()));
    std::vector<float> sorted = numbers;
    std::ranges::sort(sorted);
    EXPECT_NEAR(squared_error(numbers, k_means(numbers, 4)), least_error(sorted, 0, 4), 1e-6) << trial;
  }
}

TEST(KMeans, EveryNumberIsAtItsNearestCentreAndEveryCentreInTheMiddle) {
  Random random(4);
  for (const std::size_t clusters : {1u, 2u, 7u, 32u, 256u}) {
    std::vector<float> numbers(5000);
    for (float& number : numbers) number = static_cast<float>(random.normal());
    const Clusters found = k_means(numbers, clusters);
    ASSERT_LE(found.centres.size(), clusters);
    EXPECT_TRUE(std::ranges::is_sorted(found.centres));
    std::vector<double> sums(found.centres.size()), counts(found.centres.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const float centre : found.centres)
        nearest = std::min(nearest, std::abs(static_cast<double>(centre) - numbers[i]));
      EXPECT_LE(std::abs(static_cast<double>(found.centres[found.of[i]]) - numbers[i]), nearest + 1e-5);
      sums[found.of[i]] += numbers[i];
      ++counts[found.of[i]];
    }
    for (std::size_t c = 0; c < sums.size(); ++c) EXPECT_NEAR(found.centres[c], sums[c] / counts[c], 1e-4) << c;
  }
}

TEST(KMeans, CentresBeginEvenlySpread) {
  // by hand: centres 0, 5 and 10 take {0, 1}, {} and {9, 10}; the empty one is left out
  const Clusters found = k_means(std::vector<float>{0, 10, 1, 9}, 3);
  EXPECT_EQ(found.centres, (std::vector<float>{0.5f, 9.5f}));
  EXPECT_EQ(found.of, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(KMeans, FewNumbersAreTheirOwnCentres) {
  EXPECT_TRUE(k_means({}, 4).centres.empty());
  const Clusters equal = k_means(std::vector<float>{2, 2, 2}, 4);
  EXPECT_EQ(equal.centres, std::vector<float>{2});
  const Clusters two = k_means(std::vector<float>{-1, 3, -1}, 16);
  EXPECT_EQ(two.centres, (std::vector<float>{-1, 3}));
  EXPECT_EQ(two.of, (std::vector<std::uint32_t>{0, 1, 0}));
}

}  // namespace
}  // namespace mangrove::compress
