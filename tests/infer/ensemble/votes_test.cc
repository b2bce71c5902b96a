#include "mangrove/infer/ensemble/votes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {
namespace {

using Rule = Votes::Rule;
using Decisions = std::vector<std::int32_t>;

float logit(double probability) {
  return static_cast<float>(std::log(probability / (1 - probability)));
}

TEST(Votes, OneVsRestIsTheOneThatClaimsTheSample) {
  Votes votes(Rule::one_vs_rest, 3, 3);
  // of samples: one claims; none does; two do
  votes.add({"a", {0, kRest}}, std::vector<float>{logit(0.9), 5, logit(0.3), 9, logit(0.6), -9});
  votes.add({"b", {1}}, std::vector<float>{logit(0.2), logit(0.4), logit(0.7)});
  votes.add({"c", {2}}, std::vector<float>{logit(0.1), logit(0.1), logit(0.1)});
  Votes::Claims claims;
  EXPECT_EQ(votes.decide(&claims), (Decisions{0, 1, 1}));
  EXPECT_EQ(claims.one, 1);
  EXPECT_EQ(claims.none, 1);
  EXPECT_EQ(claims.several, 1);
}

TEST(Votes, OfSeveralNetworksForAClassTheMeanCounts) {
  Votes votes(Rule::one_vs_rest, 1, 2);
  votes.add({"a", {0}}, std::vector<float>{logit(0.9)});
  votes.add({"b", {0}}, std::vector<float>{logit(0.3)});
  votes.add({"c", {1}}, std::vector<float>{logit(0.65)});
  EXPECT_EQ(votes.decide(), Decisions{1});
}

TEST(Votes, AveragingTakesProbabilitiesNotOutputs) {
  Votes votes(Rule::averaging, 1, 2);
  votes.add({"a", {0, 1}}, std::vector<float>{100, 0});  // as sure as can be: 1, 0
  votes.add({"b", {1, 0}}, std::vector<float>{logit(0.9), 0});
  votes.add({"c", {1, 0}}, std::vector<float>{logit(0.9), 0});
  EXPECT_EQ(votes.decide(), Decisions{1});  // 1.2 to 1.8; outputs would say 100 to 4.4
}

Graph with_classes(const std::string& json) {
  GraphParts parts = small_graph().parts();
  parts.metadata["mangrove.classes"] = json;
  return *Graph::create(std::move(parts));
}

TEST(MemberOf, GoesByNames) {
  const std::vector<std::string> classes = {"x", "y", "z"};
  const auto member = member_of(with_classes(R"(["z","rest","x","a","b","c","d","e","f","g"])"), classes);
  ASSERT_TRUE(member.ok()) << member.error().message;
  EXPECT_EQ(member->class_of[0], 2);
  EXPECT_EQ(member->class_of[1], kRest);
  EXPECT_EQ(member->class_of[2], 0);
}

TEST(MemberOf, RefusesWhatHasNoMeaning) {
  const std::vector<std::string> classes = {"x", "y", "z"};
  for (const char* names : {R"(["a","b","c","d","e","f","g","h","i","j"])", R"(["x","y"])", "x", "[1,2"})
    EXPECT_EQ(member_of(with_classes(names), classes).code(), Code::invalid_argument) << names;
  EXPECT_EQ(member_of(small_graph(), classes).code(), Code::invalid_argument);
  EXPECT_TRUE(member_of(small_graph(), std::vector<std::string>(10, "c")).ok());
}

}  // namespace
}  // namespace mangrove::infer
