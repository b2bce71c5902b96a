#include "mangrove/codec/warm_up.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mangrove::codec {
namespace {

TEST(WarmUp, FallsByEqualFactorsInFourStages) {
  EXPECT_NEAR(warm_up_fraction(0.001, 0, 400), 0.2512, 1e-4);  // as good as 75 % sparsity, 93.75 %, 98.4 %, 99.6 %
  EXPECT_NEAR(warm_up_fraction(0.001, 99, 400), 0.2512, 1e-4);
  EXPECT_NEAR(warm_up_fraction(0.001, 100, 400), 0.0631, 1e-4);
  EXPECT_NEAR(warm_up_fraction(0.001, 200, 400), 0.01585, 1e-5);
  EXPECT_NEAR(warm_up_fraction(0.001, 399, 400), 0.00398, 1e-5);
  EXPECT_EQ(warm_up_fraction(0.001, 400, 400), 0.001);
  EXPECT_EQ(warm_up_fraction(0.001, 0, 0), 0.001);
  EXPECT_EQ(warm_up_fraction(1, 0, 400), 1);
}

TEST(WarmUp, SendsLessAndLess) {
  constexpr std::int64_t kElements = 10000;
  const Stream stream{.layers = {{1, kElements}}, .seed = 1};
  WarmUp sender(make_codec("top_k", stream).value(), 0.001, 8);
  const std::vector<float> values(kElements, 1);
  std::vector<float> decoded(kElements);
  std::vector<std::int64_t> kept;
  for (int message = 0; message < 10; ++message) {
    ASSERT_TRUE(sender.decode(sender.encode(values), decoded).ok());
    kept.push_back(std::count(decoded.begin(), decoded.end(), 1.0f));
  }
  EXPECT_EQ(kept, (std::vector<std::int64_t>{2512, 2512, 631, 631, 158, 158, 40, 40, 10, 10}));
}

}  // namespace
}  // namespace mangrove::codec
