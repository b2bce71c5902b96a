#include "mangrove/base/random_bits.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace mangrove {
namespace {

TEST(RandomBits, AreTheSameInAnyOrderAndDifferBetweenStreams) {
  const std::uint64_t stream = stream_of("node");
  EXPECT_EQ(random_bits(stream, 5), random_bits(stream, 5));
  std::set<std::uint64_t> distinct;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    distinct.insert(random_bits(stream, i));
    distinct.insert(random_bits(stream + 1, i));
  }
  EXPECT_EQ(distinct.size(), 2000u);
  EXPECT_NE(stream_of("node"), stream_of("edon"));
}

TEST(RandomBits, EachBitIsSetHalfOfTheTime) {
  constexpr int n = 40000;
  std::array<int, 64> set{};
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(1, i);
    for (std::size_t bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>((bits >> bit) & 1);
  }
  for (const int count : set) EXPECT_NEAR(count, n / 2, 5 * std::sqrt(n) / 2);
}

}  // namespace
}  // namespace mangrove
