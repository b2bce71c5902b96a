#include "mangrove/sim/lie.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/simulated_job.h"

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
  job.mutable_infer();
  EXPECT_NE(check_lies(world, job, false).error().message.find("this job has none"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::sim
