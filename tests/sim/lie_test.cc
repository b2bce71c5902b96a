#include "mangrove/sim/lie.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/sim/simulated_inference.h"
#include "tests/sim/simulated_job.h"

#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"
#include "mangrove/sim/lie_check.h"
#include "mangrove/train/tags.h"

namespace mangrove::sim {
namespace {

using nlohmann::json;
using Values = std::vector<float>;

net::Message message_of(const Values& values, net::Tag tag = train::kAnswerTag) {
  train::Answer answer;
  answer.set_round(7);
  net::Message message{1, tag, net::begin_payload(answer.SerializeAsString(), 0)};
  net::append_floats(message.payload, values);
  return message;
}

/// What becomes of the floats; the header stays.
Values forged(Liar& liar, const Values& values, net::Tag tag = train::kAnswerTag) {
  net::Message message = message_of(values, tag);
  liar.forge(message);
  const net::PayloadParts parts = net::split_payload(message.payload).value();
  train::Answer answer;
  EXPECT_TRUE(answer.ParseFromString(std::string(parts.header)));
  EXPECT_EQ(answer.round(), 7u);
  Values floats(values.size());
  EXPECT_TRUE(net::read_floats(parts.body, floats).ok());
  return floats;
}

TEST(Lie, ChangesTheFloatsOfUpdatesOnly) {
  const Values own = {1, -2, 3}, next = {4, 5, 6};
  Liar flips("sign_flip", 1), scales("scale(3)", 1), repeats("stale", 1), learns("label_flip", 1);
  EXPECT_EQ(forged(flips, own), (Values{-1, 2, -3}));
  EXPECT_EQ(forged(flips, own, train::kValuesTag), (Values{-1, 2, -3}));
  EXPECT_EQ(forged(flips, own, train::kStageTag), own);
  EXPECT_EQ(forged(scales, own), (Values{3, -6, 9}));
  EXPECT_EQ(forged(repeats, own), own);
  EXPECT_EQ(forged(repeats, next), own);
  EXPECT_EQ(forged(repeats, {8, 9}), (Values{8, 9}));  // of another kind
  EXPECT_EQ(forged(learns, own), own);
  net::Message empty = message_of({});
  flips.forge(empty);
  EXPECT_EQ(empty.payload, message_of({}).payload);
}

TEST(Lie, RandomNumbersAreSoManyTimesAsLong) {
  Liar liar("random(10)", 1), other("random(10)", 2);
  const Values got = forged(liar, Values(10'000, 0.5f));
  double squares = 0;
  for (const float value : got) squares += double{value} * value;
  EXPECT_NEAR(std::sqrt(squares / 10'000), 5, 0.2);
  EXPECT_NE(got, forged(other, Values(10'000, 0.5f)));
}

TEST(Lie, AnUnknownOneIsNamed) {
  EXPECT_EQ(find_lie("sign_flop").error().message, "there is no lie 'sign_flop'; did you mean 'sign_flip'?");
  EXPECT_EQ(find_lie("scale(x)").code(), Code::invalid_argument);
  EXPECT_EQ(find_lie("stale(2)").code(), Code::invalid_argument);
}

World with_liars(std::size_t count, std::size_t liars, const std::string& lies) {
  World world = boards(count);
  for (std::size_t i = 0; i < liars; ++i) world.devices[world.devices.size() - 1 - i].lies = lies;
  return world;
}

train::TrainJob learning_job(const std::string& aggregate) {
  train::TrainJob job = train::small_job(7 * 8 * 20);
  job.set_epochs(12);
  job.set_batch(16);
  job.set_aggregate(aggregate);
  return job;
}

double accuracy(const json& run) {
  return run.value("status", "") == "ok" ? run["result"]["accuracy"].get<double>() : 0;
}

TEST(LyingDevices, SpoilTheMeanAndNotTheMedian) {
  const World world = with_liars(7, 2, "sign_flip");
  const double honest = accuracy(simulated(learning_job("mean"), boards(7)));
  World strong = with_liars(7, 2, "scale(-10)");
  ASSERT_GT(honest, 0.6);
  EXPECT_LT(accuracy(simulated(learning_job("mean"), strong)), 0.3);
  EXPECT_GT(accuracy(simulated(learning_job("median"), strong)), 0.8 * honest);
  const json first = simulated(learning_job("median"), world), second = simulated(learning_job("median"), world);
  EXPECT_GT(accuracy(first), 0.8 * honest);
  EXPECT_EQ(first, second);
}

TEST(LyingDevices, LearnFromWrongLabelsByThemselves) {
  EXPECT_LT(accuracy(simulated(learning_job("mean"), with_liars(3, 3, "label_flip"))), 0.1);
  EXPECT_GT(accuracy(simulated(learning_job("median"), with_liars(7, 1, "label_flip"))), 0.6);
}

/// What becomes of an answer of a node.
std::vector<std::int32_t> forged_classes(Liar& liar, const std::vector<std::int32_t>& classes) {
  infer::FromNode said;
  said.mutable_predictions()->mutable_classes()->Assign(classes.begin(), classes.end());
  net::Message message{1, infer::kFromNodeTag, said.SerializeAsString()};
  liar.forge(message);
  EXPECT_TRUE(said.ParseFromString(message.payload));
  return {said.predictions().classes().begin(), said.predictions().classes().end()};
}

TEST(Lie, GivesWrongAnswersInInferenceOnly) {
  Liar liar("wrong_answers(1)", 1), honest("wrong_answers(0)", 1), half("wrong_answers", 1);
  EXPECT_EQ(forged_classes(liar, {0, 1, 7}), (std::vector<std::int32_t>{1, 0, 6}));
  EXPECT_EQ(forged_classes(honest, {0, 1, 7}), (std::vector<std::int32_t>{0, 1, 7}));
  const Values own = {1, -2, 3};
  EXPECT_EQ(forged(liar, own), own);
  net::Message values{1, infer::kActivationTag, net::begin_payload("", 0)};
  net::append_floats(values.payload, own);
  liar.forge(values);
  Values got(3);
  ASSERT_TRUE(net::read_floats(net::split_payload(values.payload)->body, got).ok());
  EXPECT_EQ(got, (Values{-1, 2, -3}));
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) wrong += forged_classes(half, {3}).front() == 3 ? 0 : 1;
  EXPECT_NEAR(wrong, 500, 60);
  EXPECT_EQ(find_lie("wrong_answers(1.5)").code(), Code::invalid_argument);
}

constexpr std::int64_t kImages = 600;  // in micro-batches of 4

infer::InferJob checked_job() {
  infer::InferJob job = infer::small_job(kImages, 3);
  job.set_answer_timeout_s(4);
  job.set_trust("spot_checks=0.02");
  return job;
}

World with_a_liar(std::size_t liar) {
  World world = slow_boards(4);
  world.devices[liar].lies = "wrong_answers(0.5)";
  return world;
}

std::set<std::string> quarantined(const json& result) {
  std::set<std::string> nodes;
  for (const json& device : result["trust"]["devices"])
    if (device["quarantined"].get<bool>()) nodes.insert(device["node"].get<std::string>());
  return nodes;
}

/// Whichever it is: one that has a stage, a spare one, or the one that has classified everything alone before.
TEST(LyingDevices, AreFoundByTheirAnswersWhichAreDoneAgain) {
  const SimulatedInference honest = simulated(checked_job(), slow_boards(4));
  infer::expect_exact(honest.outcome, kImages, "honest");
  const json expected = json::parse(honest.outcome.result());
  EXPECT_EQ(quarantined(expected), std::set<std::string>());
  // of the board whose answers are the known ones: its first ten checks, and a share of the 150 micro-batches
  EXPECT_LE(expected["trust"]["copies"], 10 + 0.02 * 150);
  EXPECT_EQ(expected["trust"]["disputes"], 0);
  int found = 0;
  for (std::size_t liar = 1; liar <= 4; ++liar) {
    const std::string node = "board-" + std::to_string(liar);
    const SimulatedInference run = simulated(checked_job(), with_a_liar(liar));
    infer::expect_exact(run.outcome, kImages, node);
    if (!run.outcome.leader.ok()) continue;
    const json result = json::parse(run.outcome.result());
    EXPECT_EQ(result["accuracy"], expected["accuracy"]) << node;
    EXPECT_EQ(result["macro_f1"], expected["macro_f1"]) << node;
    if (quarantined(result).empty()) continue;  // a spare one that had no work
    ++found;
    EXPECT_EQ(quarantined(result), std::set<std::string>{node});
    EXPECT_TRUE(run.outcome.has_event(R"("event":"quarantined","node":")" + node + '"')) << node;
  }
  EXPECT_GE(found, 3);
}

TEST(LyingDevices, SpoilAnswersThatNobodyChecks) {
  infer::InferJob job = checked_job();
  job.clear_trust();
  World world = slow_boards(4);
  for (std::size_t liar = 1; liar <= 4; ++liar) world.devices[liar].lies = "wrong_answers(0.5)";
  const SimulatedInference run = simulated(job, world);
  ASSERT_TRUE(run.outcome.leader.ok()) << run.outcome.leader.error().message;
  EXPECT_LT(json_number(run.outcome.result(), "agreement"), 0.9);
}

TEST(LyingDevices, AreRefusedWhereTheyCannotLie) {
  const World world = with_liars(4, 1, "stale");
  cluster::JobSpec job;
  *job.mutable_train() = learning_job("median");
  EXPECT_TRUE(check_lies(world, job, false).ok());
  EXPECT_EQ(check_lies(world, job, true).error().message,
            "key 'lies': with --compute modelled nothing is learnt; use --compute real");
  job.mutable_train()->set_secure_aggregation(true);
  EXPECT_NE(check_lies(world, job, false).error().message.find("with secure_aggregation nobody"), std::string::npos);
  job.mutable_train()->set_codec("int8");
  EXPECT_NE(check_lies(world, job, false).error().message.find("use codec none, not 'int8'"), std::string::npos);
  job.mutable_train()->set_strategy("all_reduce");
  EXPECT_NE(check_lies(world, job, false).error().message.find("with strategy 'all_reduce'"), std::string::npos);
  EXPECT_TRUE(check_lies(boards(4), job, true).ok());
  const World answering = with_liars(4, 1, "wrong_answers");
  EXPECT_NE(check_lies(answering, job, false).error().message.find("and this job trains"), std::string::npos);
  *job.mutable_infer() = checked_job();
  EXPECT_NE(check_lies(world, job, false).error().message.find("this job has none"), std::string::npos);
  EXPECT_TRUE(check_lies(answering, job, false).ok());
  EXPECT_NE(check_lies(answering, job, true).error().message.find("nothing is answered"), std::string::npos);
  job.mutable_infer()->set_activations("int8");
  EXPECT_NE(check_lies(answering, job, false).error().message.find("use activations float32"), std::string::npos);
  job.mutable_infer()->set_strategy("averaging");
  EXPECT_NE(check_lies(answering, job, false).error().message.find("with one network only"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::sim
