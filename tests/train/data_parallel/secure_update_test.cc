#include "mangrove/train/data_parallel/secure_update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {
namespace {

TEST(SecureUpdate, SumsToTheMeanOfThoseThatAreLeft) {
  const SecureUpdate layout(3, 2, 1);
  const std::vector<std::vector<float>> updates = {{0.5f, -1, 20, 300, -0.001f}, {0.25f, 3, -1, 5, 2}};
  const std::vector<std::int64_t> counts = {30, 10};
  std::vector<std::uint32_t> sum(layout.words());
  for (std::size_t i = 0; i < 2; ++i) {
    SumWeights weights;
    weights.set_share(static_cast<double>(counts[i]) / 60);  // a third worker with 20 samples has dropped out
    weights.set_discount(i == 0 ? 1 : 0.5);
    const learn::BatchStats stats{.loss = 2.0 * static_cast<double>(counts[i]),
                                  .correct = 7,
                                  .count = counts[i],
                                  .early_correct = {static_cast<std::int64_t>(i)}};
    const auto words = layout.encode(updates[i], stats, weights, 0).words;
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += words[k];
  }
  const SecureUpdate::Total total = layout.decode(sum, 60, 40, 0);
  EXPECT_NEAR(total.stats.loss, 80, 1e-5);
  EXPECT_EQ(total.stats.correct, 14);
  EXPECT_EQ(total.stats.early_correct, std::vector<std::int64_t>{1});
  EXPECT_EQ(total.stats.count, 40);
  std::vector<float> values(5);
  ASSERT_TRUE(net::read_floats(total.body, values).ok());
  const std::vector<double> expected = {0.5 * 30 + 0.25 * 5, -1.0 * 30 + 3 * 5, 16.0 * 30 - 1 * 5,
                                        (300.0 * 30 + 5 * 10) / 40, (-0.001 * 30 + 2 * 10) / 40};
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 3e-5) << i;
}

TEST(SecureUpdate, WithAMaskSendsTheElementsThatOthersSendAndLeavesTheRest) {
  const SecureUpdate layout(50, 2, 0, {.fraction = 0.2, .seed = 7});
  ASSERT_EQ(layout.words(), 10u + 2 * (2 + 2));
  Random random(1);
  std::set<std::size_t> sent_at_all;
  for (std::int64_t step = 0; step < 40; ++step) {
    std::vector<std::uint32_t> sum(layout.words());
    std::vector<double> change(50), rest(50);
    for (int worker = 0; worker < 2; ++worker) {
      std::vector<float> values(52);
      for (float& value : values) value = static_cast<float>(random.uniform()) + 0.5f;
      SumWeights weights;
      weights.set_share(0.5);
      weights.set_discount(1);
      const auto [words, left] = layout.encode(values, {.count = 1}, weights, step);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += words[k];
      for (std::size_t i = 0; i < 50; ++i) {
        change[i] += values[i];
        rest[i] += left[i];
      }
    }
    std::vector<float> summed(52);
    ASSERT_TRUE(net::read_floats(layout.decode(sum, 2, 2, step).body, summed).ok());
    std::size_t sent = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_NEAR(summed[i] + rest[i], change[i], 3e-6) << i;
      EXPECT_TRUE((summed[i] == 0) != (rest[i] == 0)) << i;
      if (rest[i] != 0) continue;
      ++sent;
      sent_at_all.insert(i);
    }
    EXPECT_EQ(sent, 10u);
  }
  EXPECT_EQ(sent_at_all.size(), 50u);  // each one had its turn
}

// What is unsent grows until its turn comes.
TEST(SecureUpdate, WithAMaskLeavesWhatIsBeyondTheRange) {
  const SecureUpdate layout(8, 0, 0, {.fraction = 0.5, .seed = 7});
  SumWeights weights;
  weights.set_share(1);
  weights.set_discount(1);
  const std::vector<float> change = {20, -20, 20, -20, 20, -20, 20, -20};
  const auto [words, rest] = layout.encode(change, {.count = 1}, weights, 0);
  std::vector<float> sent(8);
  ASSERT_TRUE(net::read_floats(layout.decode(words, 1, 1, 0).body, sent).ok());
  EXPECT_EQ(std::ranges::count(sent, 0), 4);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(sent[i], sent[i] == 0 ? 0 : std::copysign(16, change[i]), 1e-6) << i;
    EXPECT_NEAR(sent[i] + rest[i], change[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace mangrove::train
