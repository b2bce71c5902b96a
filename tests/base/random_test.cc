#include "mangrove/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace mangrove {
namespace {

TEST(Random, SameSeedSameStreamAndAnotherSeedAnother) {
  Random a(7), b(7), c(8);
  for (int i = 0; i < 100; ++i) {
    const auto value = a.next();
    EXPECT_EQ(value, b.next());
    EXPECT_NE(value, c.next());
  }
}

TEST(Random, StreamIsPinned) {
  // the order of samples of every training run hangs on this: it must not change between versions
  Random random(1);
  EXPECT_EQ(random.next(), 12966619160104079557u);
  EXPECT_EQ(random.next(), 9600361134598540522u);
}

TEST(Random, ForksAreIndependentOfWhatWasDrawnBefore) {
  Random a(3), b(3);
  a.next();
  EXPECT_EQ(a.fork(5).next(), b.fork(5).next());
  EXPECT_NE(a.fork(5).next(), a.fork(6).next());
}

TEST(Random, BelowIsUniform) {
  Random random(11);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  double chi2 = 0;
  for (int count : counts) chi2 += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi2, 22.5);  // 6 degrees of freedom, p = 0.001
}

TEST(Random, NormalHasMeanZeroAndDeviationOne) {
  Random random(5);
  double sum = 0, squares = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 0.02);
}

TEST(Random, PermutationHasEveryIndexOnce) {
  for (const std::uint32_t n : {0u, 1u, 2u, 1000u}) {
    const auto order = Random(n).permutation(n);
    const std::set<std::uint32_t> distinct(order.begin(), order.end());
    EXPECT_EQ(order.size(), n);
    EXPECT_EQ(distinct.size(), n);
    if (n > 0) {
      EXPECT_EQ(*distinct.rbegin(), n - 1);
    }
  }
}

}  // namespace
}  // namespace mangrove
