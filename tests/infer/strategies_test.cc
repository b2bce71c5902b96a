#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/infer/inference_job.h"

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/keys.h"
#include "mangrove/infer/strategy.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kStrategiesSamples = 30;

double accuracy_alone() {
  return json_number(infer(small_job(kStrategiesSamples, 1), 1).result(), "accuracy");
}

void expect_like_alone(const RoleWorld::Outcome& outcome, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "images"), kStrategiesSamples) << where;
  EXPECT_DOUBLE_EQ(json_number(outcome.result(), "accuracy"), accuracy_alone()) << where;
  EXPECT_GT(json_number(outcome.result(), "macro_f1"), 0) << where;
  EXPECT_GT(json_number(outcome.result(), "images_per_s"), 0) << where;
}

TEST(Single, NamesTheNodeThatDidIt) {
  InferJob job = small_job(kStrategiesSamples, 0);
  job.set_strategy("single");
  const std::string result = infer(job, 3).result();
  EXPECT_NE(result.find(R"("node":"rank-)"), std::string::npos) << result;
}

/// A row of the table with one network for all nodes.
class OneNetwork : public ::testing::TestWithParam<Strategy> {
 protected:
  static InferJob job() {
    InferJob job = small_job(kStrategiesSamples, 0);
    job.set_strategy(std::string(GetParam().name));
    return job;
  }
};

TEST_P(OneNetwork, AnswersAsOneNodeAlone) {
  expect_like_alone(infer(job(), 3), std::string(GetParam().name));
}

TEST_P(OneNetwork, LosesNothingWithANode) {
  for (int k = 0; k < 16; ++k) {
    RoleWorld world(3);
    world.die({.rank = 1, .at_send = k});
    expect_like_alone(infer(job(), world), "message " + std::to_string(k));
  }
}

std::vector<Strategy> with_one_network() {
  std::vector<Strategy> rows(strategies().begin(), strategies().end());
  std::erase_if(rows, [](const Strategy& row) { return row.networks != Networks::one; });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Strategies, OneNetwork, ::testing::ValuesIn(with_one_network()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Averaging, OfTheSameNetworkIsThatNetwork) {
  for (const int nodes : {1, 2, 5})
    expect_like_alone(
        infer(ensemble_job("averaging", kStrategiesSamples,
                           {ensemble_member(kAllGlyphs), ensemble_member(kAllGlyphs, 3), ensemble_member(kAllGlyphs)}),
              nodes),
        std::to_string(nodes) + " nodes");
}

TEST(Ensemble, OfNetworksForTheirClassesDecidesAsOneForAll) {
  const std::vector<std::string> members = {
      ensemble_member(R"(["0","1","2","3","rest","rest","rest","rest","rest","rest"])"),
      ensemble_member(R"(["r","r","r","r","4","5","6","7","8","9"])")};
  for (const int nodes : {1, 2, 3}) {
    const RoleWorld::Outcome outcome = infer(ensemble_job("ensemble", kStrategiesSamples, members), nodes);
    expect_like_alone(outcome, std::to_string(nodes) + " nodes");
    const std::string result = outcome.result();
    EXPECT_EQ(json_number(result, "one") + json_number(result, "none") + json_number(result, "several"),
              kStrategiesSamples);
  }
}

TEST(Ensemble, LosesNothingWithANode) {
  const std::vector<std::string> members = {ensemble_member(kAllGlyphs), ensemble_member(kAllGlyphs),
                                            ensemble_member(kAllGlyphs)};
  for (int k = 0; k < 6; ++k) {
    RoleWorld world(3);
    world.die({.rank = 2, .at_send = k});
    expect_like_alone(infer(ensemble_job("ensemble", kStrategiesSamples, members), world),
                      "message " + std::to_string(k));
  }
}

TEST(Ensemble, LosesNothingWithAMessage) {
  InferJob job =
      ensemble_job("ensemble", kStrategiesSamples, {ensemble_member(kAllGlyphs), ensemble_member(kAllGlyphs)});
  job.set_answer_timeout_s(0.2);
  for (int k = 0; k < 5; ++k) {
    RoleWorld world(2);
    int sent = 0;
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag) { return sent++ == k; });
    expect_like_alone(infer(job, world), "message " + std::to_string(k));
  }
}

TEST(Ensemble, RefusesClassesThatNoNetworkKnows) {
  const std::string few = ensemble_member(R"(["0","1","2","3","rest","rest","rest","rest","rest","rest"])");
  for (const std::string strategy : {"ensemble", "averaging"}) {
    const RoleWorld::Outcome outcome = infer(ensemble_job(strategy, kStrategiesSamples, {few}), 1);
    EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
    EXPECT_NE(outcome.leader.error().message.find("the class '4'"), std::string::npos)
        << outcome.leader.error().message;
  }
  EXPECT_EQ(infer(ensemble_job("ensemble", kStrategiesSamples, {}), 1).leader.code(), Code::invalid_argument);
}

TEST(InferKeys, BelongToStrategiesOfTheTable) {
  InferJob job;
  Keys keys;
  add_keys(job, keys);
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  for (const Key& key : keys.all()) {
    EXPECT_EQ(key.help.find('{'), std::string::npos) << key.name << ": " << key.help;
    for (const std::string& strategy : key.strategies)
      EXPECT_TRUE(std::ranges::find(names, strategy) != names.end()) << key.name << ": " << strategy;
  }
}

TEST(InferKeys, ALeftOutKeyHasItsDefault) {
  EXPECT_TRUE(check_job(InferJob()).ok()) << check_job(InferJob()).error().message;
  EXPECT_EQ(InferJob().answer_timeout_s(), 10);
  EXPECT_EQ(InferJob().micro_batch(), 50);
}

TEST(InferKeys, AreCheckedOnEveryRank) {
  const auto message_of = [](const std::function<void(InferJob&)>& spoil) {
    InferJob job = small_job(kStrategiesSamples, 0);
    spoil(job);
    const Status status = check_job(job);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_TRUE(message_of([](InferJob& job) { job.set_micro_batch(0); }).starts_with("micro_batch: "));
  EXPECT_TRUE(message_of([](InferJob& job) { job.set_window(2147483647); }).starts_with("window: "));
  EXPECT_TRUE(message_of([](InferJob& job) { job.set_deadline_s(-1); }).starts_with("deadline: "));
  EXPECT_TRUE(message_of([](InferJob& job) { job.set_accuracy_floor(2); }).starts_with("accuracy_floor: "));
  EXPECT_TRUE(message_of([](InferJob& job) { job.add_cuts("\xff"); }).starts_with("cuts: "));
}

}  // namespace
}  // namespace mangrove::infer
