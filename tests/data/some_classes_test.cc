#include "mangrove/data/some_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace mangrove::data {
namespace {

using Names = std::vector<std::string>;

std::shared_ptr<const Dataset> open(const std::string& spec, Split split = Split::test) {
  const auto dataset = open_dataset(spec, split, "/nowhere");
  EXPECT_TRUE(dataset.ok()) << dataset.error().message;
  return dataset.ok() ? *dataset : nullptr;
}

TEST(SomeClasses, LabelsTheOthersAsTheRest) {
  const auto all = open("glyphs"), some = open("glyphs,classes=7;2");
  ASSERT_TRUE(all != nullptr && some != nullptr);
  EXPECT_EQ(some->class_names(), (Names{"7", "2", "rest"}));
  ASSERT_EQ(some->size(), all->size());
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::string& name = all->class_names()[static_cast<std::size_t>(all->label(i))];
    EXPECT_EQ(some->label(i), name == "7" ? 0 : name == "2" ? 1 : 2) << name;
  }
  std::vector<float> a(784), b(784);
  ASSERT_TRUE(all->read(5, a).ok() && some->read(5, b).ok());
  EXPECT_EQ(a, b);
}

TEST(SomeClasses, HaveNoRestWhereTheyAreAll) {
  const auto all = open("glyphs,classes=9;8;7;6;5;4;3;2;1;0");
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->classes(), 10);
  EXPECT_EQ(all->class_names().front(), "9");
}

TEST(SomeClasses, AreBalancedAgainstTheRest) {
  const auto both = open("leaves,classes=healthy,balance=yes", Split::train);
  ASSERT_NE(both, nullptr);
  std::vector<int> counts(2, 0);
  for (std::uint32_t i = 0; i < both->size(); ++i) ++counts[static_cast<std::size_t>(both->label(i))];
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(SomeClasses, RefusesWhatIsNotThereOrTwice) {
  for (const char* bad : {"glyphs,classes=eleven", "glyphs,classes=1;1", "glyphs,classes="}) {
    const auto dataset = open_dataset(bad, Split::test, "/nowhere");
    ASSERT_FALSE(dataset.ok()) << bad;
    EXPECT_EQ(dataset.code(), Code::invalid_argument);
    EXPECT_NE(dataset.error().message.find("option 'classes'"), std::string::npos) << dataset.error().message;
  }
}

}  // namespace
}  // namespace mangrove::data
