#include "mangrove/data/subset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mangrove::data {
namespace {

/// Sample i is {i}; its class is the first whose bound is above i.
class Classes final : public Dataset {
 public:
  explicit Classes(std::vector<std::uint32_t> bounds) : bounds_(std::move(bounds)), names_(bounds_.size(), "c") {}
  std::uint32_t size() const override { return bounds_.back(); }
  Shape sample_shape() const override { return {1, 1, 1}; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::uint32_t index) const override {
    return static_cast<std::int32_t>(std::ranges::upper_bound(bounds_, index) - bounds_.begin());
  }
  Status read(std::uint32_t index, std::span<float> out) const override {
    out[0] = static_cast<float>(index);
    return {};
  }

 private:
  std::vector<std::uint32_t> bounds_;
  std::vector<std::string> names_;
};

std::map<std::int32_t, std::uint32_t> class_sizes(const Dataset& dataset) {
  std::map<std::int32_t, std::uint32_t> sizes;
  for (std::uint32_t i = 0; i < dataset.size(); ++i) ++sizes[dataset.label(i)];
  return sizes;
}

float value(const Dataset& dataset, std::uint32_t index) {
  float out = -1;
  EXPECT_TRUE(dataset.read(index, {&out, 1}).ok());
  return out;
}

TEST(Subset, HasTheSamplesInTheOrderGiven) {
  const auto part = subset(std::make_shared<Classes>(std::vector{4u, 10u}), {9, 0, 9});
  ASSERT_EQ(part->size(), 3u);
  EXPECT_EQ(value(*part, 0), 9);
  EXPECT_EQ(value(*part, 1), 0);
  EXPECT_EQ(part->label(1), 0);
  EXPECT_EQ(part->label(2), 1);
}

TEST(FirstSamples, LimitsOnlyWhatIsLarger) {
  const auto all = std::make_shared<Classes>(std::vector{10u});
  EXPECT_EQ(first_samples(all, 3)->size(), 3u);
  EXPECT_EQ(first_samples(all, 0), all);
  EXPECT_EQ(first_samples(all, 10), all);
}

TEST(Balanced, MakesClassesEqualAndKeepsEverySampleOnceInItsPlace) {
  const auto all = std::make_shared<Classes>(std::vector{5u, 105u, 128u});
  const auto equal = balanced(all, 0, 1);
  EXPECT_EQ(class_sizes(*equal), (std::map<std::int32_t, std::uint32_t>{{0, 100}, {1, 100}, {2, 100}}));
  std::map<float, int> times;
  for (std::uint32_t i = 0; i < equal->size(); ++i) {
    ++times[value(*equal, i)];
    if (i < all->size()) {
      EXPECT_EQ(value(*equal, i), static_cast<float>(i));
    }
  }
  for (const auto& [sample, count] : times) {
    const int expected = sample < 5 ? 20 : sample < 105 ? 1 : 100 / 23;
    EXPECT_GE(count, expected) << sample;
    EXPECT_LE(count, expected + (sample >= 105 ? 1 : 0)) << sample;
  }
}

TEST(Balanced, GivesEachClassTheNumberAskedFor) {
  const auto all = std::make_shared<Classes>(std::vector{5u, 105u, 128u});
  const auto equal = balanced(all, 30, 1);
  EXPECT_EQ(class_sizes(*equal), (std::map<std::int32_t, std::uint32_t>{{0, 30}, {1, 30}, {2, 30}}));
  std::map<float, int> times;
  for (std::uint32_t i = 0; i < equal->size(); ++i) ++times[value(*equal, i)];
  EXPECT_EQ(times.size(), 5u + 30 + 23);
  for (const auto& [sample, count] : times) {
    EXPECT_GE(count, sample < 5 ? 6 : 1) << sample;
    EXPECT_LE(count, sample < 5 ? 6 : sample < 105 ? 1 : 2) << sample;
  }
  EXPECT_EQ(value(*balanced(all, 30, 1), 40), value(*equal, 40));
  const auto other = balanced(all, 30, 2);
  int same = 0;
  for (std::uint32_t i = 0; i < equal->size(); ++i) same += value(*equal, i) == value(*other, i);
  EXPECT_LT(same, 60) << "which are taken depends on the seed";
}

TEST(Carve, SplitsEveryClassBySeedWithoutOverlap) {
  const Classes all({10u, 110u, 130u});
  const CarvedSplits splits = carve(all, 0.1, 0.2, 7);
  EXPECT_EQ(splits.test.size(), 2u + 20 + 4);
  EXPECT_EQ(splits.validation.size(), 1u + 10 + 2);
  std::set<std::uint32_t> seen;
  for (const auto* split : {&splits.train, &splits.validation, &splits.test}) {
    EXPECT_TRUE(std::ranges::is_sorted(*split));
    seen.insert(split->begin(), split->end());
  }
  EXPECT_EQ(seen.size(), 130u);
  EXPECT_EQ(splits.train.size() + splits.validation.size() + splits.test.size(), 130u);
  EXPECT_EQ(carve(all, 0.1, 0.2, 7).test, splits.test);
  EXPECT_NE(carve(all, 0.1, 0.2, 8).test, splits.test);
}

}  // namespace
}  // namespace mangrove::data
