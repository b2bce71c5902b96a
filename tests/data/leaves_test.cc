#include "mangrove/data/leaves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "mangrove/data/leaf_marks.h"
#include "mangrove/data/sha256.h"

namespace mangrove::data {
namespace {

constexpr std::size_t kPixels = 64 * 64;
using Image = std::vector<float>;

Image leaf_image(const Dataset& dataset, std::uint32_t index) {
  Image values(3 * kPixels, 0.5f);  // what was in the buffer does not matter
  EXPECT_TRUE(dataset.read(index, values).ok());
  return values;
}

/// SHA-256 of labels and values of the first 50 samples.
std::string leaf_fingerprint(const Dataset& dataset) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < 50; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(dataset.label(i)));
    for (const float value : leaf_image(dataset, i)) bytes.push_back(static_cast<std::uint8_t>(value * 255 + 0.5f));
  }
  return sha256(bytes);
}

// A change of these sums is a change of the data set: figures measured before and after cannot be compared.
TEST(Leaves, AreTheSameOnEveryRunAndMachine) {
  EXPECT_EQ(leaf_fingerprint(*make_leaves(Split::train)),
            "3e0af0e4b863d76378f30bb9e0157111bdd17fb529431c30377cf797e25543b3");
  EXPECT_EQ(leaf_fingerprint(*make_leaves(Split::test)),
            "4e658047ba8cf39b3b53fd751163949d18e9a11bb2119cc9ac84e6cbdbc8f265");
  EXPECT_NE(leaf_fingerprint(*make_leaves(Split::train, 2)), leaf_fingerprint(*make_leaves(Split::train, 1)));
}

TEST(Leaves, HaveAsManyOfEachClassInNoOrder) {
  for (const auto& [split, size] : {std::pair{Split::train, 2'000u}, std::pair{Split::test, 500u}}) {
    const auto dataset = make_leaves(split);
    ASSERT_EQ(dataset->size(), size);
    ASSERT_EQ(dataset->classes(), 10);
    std::array<std::uint32_t, 10> counts{};
    for (std::uint32_t i = 0; i < size; ++i) ++counts[static_cast<std::size_t>(dataset->label(i))];
    for (const std::uint32_t count : counts) EXPECT_EQ(count, size / 10);
  }
}

TEST(Leaves, SamplesDifferAndAreOfEightBits) {
  std::set<Image> seen;
  for (const Split split : {Split::train, Split::test}) {
    const auto dataset = make_leaves(split);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const Image values = leaf_image(*dataset, i);
      for (const float value : values) ASSERT_EQ(value, std::round(value * 255) / 255);
      EXPECT_TRUE(seen.insert(values).second) << i;
    }
  }
}

TEST(Leaves, AreGreenUnlessADiseaseSaysOtherwise) {
  const auto dataset = make_leaves(Split::train);
  std::array<double, 10> green{};  // share of the pixels, of all images of a class
  for (std::uint32_t i = 0; i < dataset->size(); ++i) {
    const Image values = leaf_image(*dataset, i);
    double share = 0;
    for (std::size_t p = 0; p < kPixels; ++p)
      share += values[kPixels + p] > values[p] + 0.12f && values[kPixels + p] > values[2 * kPixels + p] + 0.12f;
    green[static_cast<std::size_t>(dataset->label(i))] += share / kPixels / 200;
  }
  const double healthy = green[static_cast<std::size_t>(LeafDisease::healthy)];
  EXPECT_GT(healthy, 0.25);
  EXPECT_LT(healthy, 0.6);
  for (const LeafDisease disease : {LeafDisease::early_blight, LeafDisease::late_blight, LeafDisease::curl_virus,
                                    LeafDisease::leaf_mold, LeafDisease::spider_mites})
    EXPECT_LT(green[static_cast<std::size_t>(disease)], 0.9 * healthy) << static_cast<int>(disease);
}

}  // namespace
}  // namespace mangrove::data
