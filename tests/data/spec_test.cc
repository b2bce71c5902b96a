#include "mangrove/data/spec.h"

#include <gtest/gtest.h>

namespace mangrove::data {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

TEST(DatasetSpec, ReadsNamePathAndOptions) {
  struct Case {
    const char* text;
    const char* name;
    const char* path;
    Options options;
  };
  const Case cases[] = {
      {"mnist", "mnist", "", {}},
      {"cifar10,validation=5000", "cifar10", "", {{"validation", "5000"}}},
      {"csv:walk.csv,window=128,label=activity", "csv", "walk.csv", {{"window", "128"}, {"label", "activity"}}},
      {"folder:/data/Pepper, bell,size=96", "folder", "/data/Pepper, bell", {{"size", "96"}}},
      {"folder:C:x", "folder", "C:x", {}},
      {"./leaves", "folder", "./leaves", {}},
      {"/a/b,balance=yes", "folder", "/a/b", {{"balance", "yes"}}},
      {"runs/walk.csv,stride=8", "csv", "runs/walk.csv", {{"stride", "8"}}},
      {"csv:a.csv,skip=t;u,x,y=", "csv", "a.csv", {{"skip", "t;u,x"}, {"y", ""}}},
      {"Nonsense", "Nonsense", "", {}},
      {"", "", "", {}},
  };
  for (const Case& expected : cases) {
    const auto spec = DatasetSpec::parse(expected.text);
    ASSERT_TRUE(spec.ok()) << expected.text;
    EXPECT_EQ(spec->name, expected.name) << expected.text;
    EXPECT_EQ(spec->path, expected.path) << expected.text;
    EXPECT_EQ(spec->options, expected.options) << expected.text;
    EXPECT_EQ(DatasetSpec::parse(spec->text())->options, expected.options) << expected.text;
  }
}

TEST(DatasetSpec, OptionTwiceIsRefused) {
  const auto spec = DatasetSpec::parse("mnist,test=1,test=2");
  EXPECT_EQ(spec.code(), Code::invalid_argument);
  EXPECT_EQ(spec.error().message, "data 'mnist,test=1,test=2': option 'test' is given twice");
}

TEST(DatasetSpec, NumbersAreCheckedAgainstTheirRange) {
  const auto spec = *DatasetSpec::parse("csv:x,window=12,stride=0,test=0.25,validation=nan,rate=1x");
  EXPECT_EQ(*spec.whole_number("window", 1, 1, 100), 12);
  EXPECT_EQ(*spec.whole_number("absent", 7, 1, 100), 7);
  EXPECT_EQ(*spec.number("test", 0, 0, 1), 0.25);
  EXPECT_EQ(spec.whole_number("stride", 1, 1, 100).error().message,
            "option 'stride': '0' is not a whole number from 1 to 100");
  EXPECT_EQ(spec.number("validation", 0, 0, 1).code(), Code::invalid_argument);
  EXPECT_EQ(spec.whole_number("rate", 1, 1, 100).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::data
