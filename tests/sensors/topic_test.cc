#include "mangrove/sensors/topic.h"

#include <gtest/gtest.h>

#include <string>

namespace mangrove::sensors {
namespace {

const TopicFacts kFacts{.topic = "leaf/north/camera", .source = "leaves", .series = "north", .id = "leaves-7-1f"};

std::string filled(const std::string& text) {
  return TopicTemplate::parse(text).value().topic_of(kFacts).value();
}

TEST(TopicTemplate, FillsInWhatIsKnownOfAMessage) {
  EXPECT_EQ(filled("leaf/{topic[1]}/answer"), "leaf/north/answer");
  EXPECT_EQ(filled("{source}/{series}/{id}"), "leaves/north/leaves-7-1f");
  EXPECT_EQ(filled("plain"), "plain");
  EXPECT_EQ(filled("x{topic[0]}-{topic[2]}y"), "xleaf-cameray");
}

TEST(TopicTemplate, RefusesPlacesThatThereAreNot) {
  for (const char* text : {"{topic}", "{topic[-1]}", "{topic[101]}", "{name}", "a{", "a}b", "{topic[1]"})
    EXPECT_FALSE(TopicTemplate::parse(text).ok()) << text;
  const auto missing = TopicTemplate::parse("{topic[3]}").value().topic_of(kFacts);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "topic 'leaf/north/camera' has 3 levels, and no level 3");
}

TEST(TopicTemplate, MakesNoTopicThatNobodyMayPublishTo) {
  for (const std::string& series :
       {std::string("#"), std::string("a+b"), std::string(2000, 'x'), std::string("a\0b", 3)}) {
    const TopicFacts hostile{.topic = "t", .source = "s", .series = series, .id = {}};
    EXPECT_FALSE(TopicTemplate::parse("up/{series}").value().topic_of(hostile).ok()) << series.size();
  }
  const TopicFacts system{.topic = "$SYS/x", .source = "s", .series = {}, .id = {}};
  EXPECT_FALSE(TopicTemplate::parse("{topic[0]}/x").value().topic_of(system).ok());
  EXPECT_FALSE(TopicTemplate::parse("{series}").value().topic_of(system).ok()) << "an empty topic";
}

TEST(TopicTemplate, AMessageCannotAddLevelsToATopic) {
  const TopicFacts by_id{.topic = "t", .source = "s", .series = "t", .id = "x/camera"};
  EXPECT_FALSE(TopicTemplate::parse("leaf/{id}").value().topic_of(by_id).ok());
  EXPECT_TRUE(TopicTemplate::parse("leaf/{series}").value().topic_of(by_id).ok());
  EXPECT_TRUE(TopicTemplate::parse("{id}").value().text_of(by_id).ok()) << "this is no topic";
  const TopicFacts by_series{.topic = "t", .source = "s", .series = "x/camera", .id = "1"};
  EXPECT_FALSE(TopicTemplate::parse("leaf/{series}").value().topic_of(by_series).ok());
}

TEST(FiltersOverlap, SaysWhetherATopicFitsBoth) {
  EXPECT_TRUE(filters_overlap("leaf/+/answer", "leaf/north/answer"));
  EXPECT_TRUE(filters_overlap("#", "a/b"));
  EXPECT_TRUE(filters_overlap("a/#", "a"));
  EXPECT_TRUE(filters_overlap("+/b", "a/+"));
  EXPECT_TRUE(filters_overlap("$share/group/leaf/+", "leaf/x"));
  EXPECT_FALSE(filters_overlap("leaf/+", "leaf/x/answer"));
  EXPECT_FALSE(filters_overlap("leaf/+/camera", "leaf/+/answer"));
  EXPECT_FALSE(filters_overlap("a", "b"));
}

TEST(FiltersOverlap, ATemplateIsTheFilterOfAllThatItCanGive) {
  EXPECT_EQ(TopicTemplate::parse("leaf/{topic[1]}/answer").value().filter(), "leaf/+/answer");
  EXPECT_EQ(TopicTemplate::parse("up/a{id}b").value().filter(), "up/+");
}

}  // namespace
}  // namespace mangrove::sensors
