#include "mangrove/data/relabelled.h"

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

TEST(CoarseClasses, AreThoseAboveTheFineOnes) {
  for (const std::string name : {"glyphs", "leaves"}) {
    const auto fine = open(name), coarse = open(name + ",labels=coarse");
    ASSERT_TRUE(fine != nullptr && coarse != nullptr) << name;
    const CoarseLabels* above = fine->coarse();
    ASSERT_NE(above, nullptr) << name;
    ASSERT_EQ(above->of_class.size(), fine->class_names().size()) << name;
    EXPECT_EQ(coarse->class_names(), above->names) << name;
    EXPECT_EQ(coarse->coarse(), nullptr) << name;
    std::vector<int> counts(above->names.size(), 0);
    for (std::uint32_t i = 0; i < fine->size(); ++i) {
      EXPECT_EQ(coarse->label(i), above->of_class[static_cast<std::size_t>(fine->label(i))]) << name;
      ++counts[static_cast<std::size_t>(coarse->label(i))];
    }
    EXPECT_GT(*std::ranges::min_element(counts), 0) << name << ": a class that no sample has";
  }
}

TEST(CoarseClasses, AreWhatClassesChoosesFrom) {
  const auto looped = open("glyphs,labels=coarse,classes=looped");
  ASSERT_NE(looped, nullptr);
  EXPECT_EQ(looped->class_names(), (Names{"looped", "rest"}));
  EXPECT_EQ(open("glyphs,labels=fine")->classes(), 10);
}

TEST(CoarseClasses, RefusesWhatIsNotThere) {
  const auto refused = [](const char* spec) { return open_dataset(spec, Split::test, "/nowhere").error().message; };
  EXPECT_NE(refused("glyphs,labels=rough").find("option 'labels': 'rough' is not fine or coarse"), std::string::npos);
}

TEST(SomeClasses, RefusesWhatIsNotThereOrTwice) {
  for (const char* bad : {"glyphs,classes=eleven", "glyphs,classes=1;1", "glyphs,classes="}) {
    const auto dataset = open_dataset(bad, Split::test, "/nowhere");
    ASSERT_FALSE(dataset.ok()) << bad;
    EXPECT_EQ(dataset.code(), Code::invalid_argument);
    EXPECT_NE(dataset.error().message.find("option 'classes'"), std::string::npos) << dataset.error().message;
  }
}

TEST(SomeClasses, QuotesNoLabelToJobsOfOthers) {
  const auto refused = [](const DataFolder& folder) {
    return open_dataset("glyphs,labels=coarse,classes=loped", Split::test, folder).error().message;
  };
  EXPECT_NE(refused("/nowhere").find("looped"), std::string::npos) << refused("/nowhere");
  const std::string to_others = refused(DataFolder::confined("/nowhere", {}));
  EXPECT_NE(to_others.find("no class 'loped'"), std::string::npos) << to_others;
  EXPECT_EQ(to_others.find("looped"), std::string::npos) << to_others;
}

}  // namespace
}  // namespace mangrove::data
