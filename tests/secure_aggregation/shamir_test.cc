#include "mangrove/secure_aggregation/shamir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/secure_aggregation/chi_square.h"
#include "tests/secure_aggregation/round.h"

namespace mangrove::secure {
namespace {

using Numbered = std::vector<std::pair<std::size_t, Secret>>;

Numbered chosen(const std::vector<Secret>& shares, const std::vector<std::uint32_t>& numbers, std::size_t count) {
  Numbered some;
  for (std::size_t i = 0; i < count; ++i) some.emplace_back(numbers[i], shares[numbers[i]]);
  return some;
}

bool are_same(const Secret& one, const Secret& other) {
  return std::ranges::equal(one.bytes(), other.bytes());
}

TEST(Shamir, AnyThresholdOfSharesMakeUpTheSecret) {
  for (const auto& [threshold, count] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 3}, {2, 3}, {3, 3}, {5, 9}, {170, 255}, {255, 255}}) {
    const Secret secret = draw_secret(seeded(threshold));
    const std::vector<Secret> shares = share(secret, threshold, count, seeded(1 + threshold));
    ASSERT_EQ(shares.size(), count);
    Random random(count);
    for (int draw = 0; draw < 20; ++draw) {
      const auto numbers = random.permutation(static_cast<std::uint32_t>(count));
      EXPECT_TRUE(are_same(combine(chosen(shares, numbers, threshold)), secret)) << threshold << " of " << count;
    }
  }
}

// Whatever the secret, there is exactly one missing share that leads to it: so what is known says nothing about it.
TEST(Shamir, FewerSharesFitEverySecret) {
  const std::vector<Secret> shares = share(draw_secret(seeded(3)), 3, 5, seeded(4));
  Numbered some = chosen(shares, {4, 1, 2}, 3);
  std::set<std::uint8_t> secrets;
  for (unsigned guess = 0; guess < 256; ++guess) {
    some[2].second.bytes()[0] = static_cast<std::uint8_t>(guess);
    secrets.insert(combine(some).bytes()[0]);
  }
  EXPECT_EQ(secrets.size(), 256u);
}

TEST(Shamir, FewerSharesOfAFixedSecretAreUniform) {
  const RandomSource random = seeded(11);
  std::array<ByteCounts, 3> counts{};  // of two shares of a threshold of three, and of their sum
  for (int draw = 0; draw < 3000; ++draw) {
    const std::vector<Secret> shares = share(Secret(), 3, 4, random);
    for (std::size_t i = 0; i < kKeyBytes; ++i) {
      const std::uint8_t one = shares[1].bytes()[i], other = shares[3].bytes()[i];
      counts[0].add(one);
      counts[1].add(other);
      counts[2].add(one ^ other);
    }
  }
  for (const ByteCounts& bytes : counts) EXPECT_TRUE(bytes.are_uniform()) << bytes.chi_square();
}

}  // namespace
}  // namespace mangrove::secure
