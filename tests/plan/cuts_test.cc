#include "mangrove/plan/cuts.h"

#include <gtest/gtest.h>

namespace mangrove::plan {
namespace {

/// 0 -> (1 -> 2 | 3) -> 4, values of 1, 2, 4, 8 and 16 bytes, an input of 32 that 0 and 4 read.
Layers diamond() {
  return {"diamond",
          1,
          {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}},
          {{{}, {0, 4}, false, 32},
           {0, {1, 3}, false, 1},
           {1, {2}, false, 2},
           {2, {4}, false, 4},
           {3, {4}, false, 8},
           {4, {}, true, 16}}};
}

TEST(Cuts, AreTheDownsetsWithWhatCrossesThem) {
  const Layers network = diamond();
  const std::vector<Seconds> work = {1, 1, 1, 5, 1};
  const Cuts cuts(network, work);
  // {}, a, ab, abc, ad, abd, abcd, all
  ASSERT_EQ(cuts.size(), 8u);
  EXPECT_TRUE(cuts.all());
  const auto layers = [&](std::size_t cut) { return cuts.layers(0, cut); };
  EXPECT_EQ(layers(1), (std::vector<std::size_t>{0}));
  EXPECT_EQ(layers(3), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(layers(4), (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(layers(7).size(), 5u);
  std::vector<Bytes> bytes;
  for (std::size_t cut = 0; cut < cuts.size(); ++cut) bytes.push_back(cuts.bytes(cut));
  EXPECT_EQ(bytes, (std::vector<Bytes>{0, 33, 35, 37, 41, 42, 44, 0}));
  EXPECT_TRUE(cuts.within(2, 3));
  EXPECT_FALSE(cuts.within(3, 4));
  std::vector<bool> parts;
  for (std::size_t cut = 0; cut < cuts.size(); ++cut) parts.push_back(cuts.parts_network(cut));
  EXPECT_EQ(parts, (std::vector<bool>{true, true, false, false, false, false, true, true}));
  EXPECT_EQ(cuts.sums(std::span<const Seconds>(work)), (std::vector<Seconds>{0, 1, 2, 3, 6, 7, 8, 9}));
}

TEST(Cuts, AreThoseAlongTheLayersWhereThereAreTooMany) {
  const Layers network = diamond();
  const Cuts cuts(network, std::vector<Seconds>(5, 1), 7);
  EXPECT_FALSE(cuts.all());
  EXPECT_EQ(cuts.size(), 6u);
  for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) EXPECT_TRUE(cuts.within(cut, cut + 1));
}

TEST(Cuts, AreAllOfALongChain) {
  const Layers network{"chain", 1, {{"a"}, {"b"}, {"c"}}, {{0, {1}, false, 1}, {1, {2}, false, 1}, {2, {}, true, 1}}};
  const Cuts cuts(network, std::vector<Seconds>(3, 1), 2);
  EXPECT_TRUE(cuts.all());
  EXPECT_EQ(cuts.size(), 4u);
}

}  // namespace
}  // namespace mangrove::plan
