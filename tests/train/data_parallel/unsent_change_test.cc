// What a worker does with the part of a change that the mask of a secure sum leaves out.
#include "mangrove/train/data_parallel/unsent_change.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/train/data_parallel/changing_endpoint.h"
#include "tests/train/training_job.h"

#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/secure_aggregation/client.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/secure_aggregation/server.h"
#include "mangrove/train/data_parallel/secure_key.h"
#include "mangrove/train/data_parallel/secure_update.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

using Floats = std::vector<float>;
using Words = std::vector<std::uint32_t>;

constexpr int kUnsentChangeSamples = 16;  // of a round of two steps

TrainJob masked_job(const std::string& codec, std::int64_t samples) {
  TrainJob job = small_job(samples);
  job.set_strategy("federated");
  job.set_local_steps(2);
  job.set_step_timeout_s(20);
  job.set_secure_aggregation(true);
  job.set_codec(codec);
  return job;
}

TEST(UnsentChange, IsWhatTheLastChangeThatCountsHasLeft) {
  UnsentChange unsent;
  Floats change = {1, 2};
  unsent.add_to(change, std::nullopt);
  EXPECT_EQ(change, (Floats{1, 2}));
  unsent.leave_out(0, {0, 2});
  unsent.add_to(change, 0);
  EXPECT_EQ(change, (Floats{1, 4}));
  unsent.leave_out(1, {1, 0});
  change = {3, 3};
  unsent.add_to(change, 0);  // it was not in the sum of step 1
  EXPECT_EQ(change, (Floats{3, 5}));
  unsent.leave_out(1, {3, 0});
  change = {0, 0};
  unsent.add_to(change, 1);
  EXPECT_EQ(change, (Floats{3, 0}));
  unsent.add_to(change, 1);  // nothing was given to a sum meanwhile
  EXPECT_EQ(change, (Floats{6, 0}));
}

/// A worker trains from the values of this step, and then gives its update to the sum of it.
struct Round {
  std::int64_t step;
  bool gives = true;   // else nobody asks for the update
  bool counts = true;  // the sum is made, and has the update
};

/// The leader of one worker, with two more in each sum that give zeros.
class ScriptedLeader {
 public:
  ScriptedLeader(job::RoleContext& context, const SecureUpdate& layout)
      : context_(context), layout_(layout), values_(learn::flat_parameters(small_graph())) {
    MG_CHECK(context.endpoint.recv({1}, kHelloTag, context.clock.after(60)).ok());
  }

  void train(std::int64_t step, std::optional<std::int64_t> counted) {
    Work work;
    work.set_kind(Work::TRAIN);
    work.set_version(step);
    for (int i = 0; i < kUnsentChangeSamples; ++i)
      work.add_samples(static_cast<std::uint32_t>(trainings_ * kUnsentChangeSamples + i));
    for (int i = 0; i < 2; ++i) work.add_learning_rates(0.1f);
    work.set_passes(1);
    if (counted) work.set_counted(*counted);
    ++trainings_;
    std::string body;
    net::append_floats(body, values_);
    give(work, body);
  }

  /// The change of each parameter that the worker sends.
  Floats sum(std::int64_t step) {
    auto server = secure::Server::create(++sums_, layout_.words(), {1, 2, 3}, secure::system_random()).value();
    secure::Client second(layout_.words(), secure::system_random()), third(layout_.words(), secure::system_random());
    const auto zeros = [&] { return Words(layout_.words()); };
    while (true) {
      const auto orders = server.next().value();
      if (orders.empty()) break;
      server.take(1, ask(step, orders.at(1)));
      server.take(2, second.reply(orders.at(2), zeros).value());
      server.take(3, third.reply(orders.at(3), zeros).value());
    }
    Floats change(values_.size());
    MG_CHECK(net::read_floats(layout_.decode(server.sum().words, 1, 1, step).body, change).ok());
    return change;
  }

  void end() {
    Work work;
    work.set_kind(Work::END);
    send(work, "");
  }

 private:
  std::string ask(std::int64_t step, const std::string& order) {
    Work work;
    work.set_kind(Work::SUM);
    work.set_version(step);
    work.mutable_weights()->set_share(1);
    work.mutable_weights()->set_discount(1);
    return give(work, order);
  }
  /// Returns the body of the answer.
  std::string give(Work work, const std::string& body) {
    work.set_round(++rounds_);
    send(work, body);
    while (true) {
      const net::Message message = context_.endpoint.recv({1}, kAnswerTag, context_.clock.after(60)).value();
      const net::PayloadParts parts = net::split_payload(message.payload).value();
      Answer answer;
      MG_CHECK(answer.ParseFromString(std::string(parts.header)));
      if (answer.round() == rounds_ && answer.done() == 0) return std::string(parts.body);
    }
  }
  void send(const Work& work, const std::string& body) {
    context_.endpoint.send(1, kWorkTag, net::begin_payload(work.SerializeAsString(), body.size()) + body);
  }

  job::RoleContext& context_;
  const SecureUpdate& layout_;
  const Floats values_;
  std::uint64_t rounds_ = 0, sums_ = 0;
  int trainings_ = 0;
};

SecureUpdate layout_of(const TrainJob& job) {
  return {learn::flat_parameters(small_graph()).size(), 0, 0, shared_mask(job)};
}

/// What the worker gives in each of these rounds; nothing where it gives nothing.
std::vector<Floats> play(const TrainJob& job, const std::vector<Round>& rounds) {
  RoleWorld world(2);
  world.use_virtual_time();
  const SecureUpdate layout = layout_of(job);
  std::vector<Floats> sent;
  const auto lead = [&](job::RoleContext& context) -> Status {
    ScriptedLeader leader(context, layout);
    std::optional<std::int64_t> counted;
    for (const Round& round : rounds) {
      leader.train(round.step, counted);
      sent.push_back(round.gives ? leader.sum(round.step) : Floats());
      if (round.gives && round.counts) counted = round.step;
    }
    leader.end();
    return {};
  };
  const auto outcome = world.run([&](job::RoleContext& context) {
    return context.endpoint.rank() == 0 ? lead(context) : run_training(job, context);
  });
  EXPECT_TRUE(outcome.others.front().ok());
  return sent;
}

/// Whether each parameter is in the mask of the step.
std::vector<bool> mask_of(const SecureUpdate& layout, std::size_t parameters, std::int64_t step) {
  Floats change(parameters);
  MG_CHECK(net::read_floats(layout.decode(Words(layout.words(), 1 << 20), 1, 1, step).body, change).ok());
  std::vector<bool> mask(parameters);
  std::transform(change.begin(), change.end(), mask.begin(), [](float value) { return value != 0; });
  return mask;
}

struct UnsentCase {
  std::string name;
  std::vector<Round> rounds;
};

class UnsentChangeOfAWorker : public ::testing::TestWithParam<UnsentCase> {};

// Sent and rest are the new change and what was unsent before, in each element. The new changes are those that a worker
// without a mask sends.
TEST_P(UnsentChangeOfAWorker, AndWhatItSendsAreItsChanges) {
  const std::vector<Round>& rounds = GetParam().rounds;
  std::vector<Round> all = rounds;
  for (Round& round : all) round.gives = true;
  const TrainJob job = masked_job("structured_mask(0.25)", 256);
  const std::vector<Floats> changes = play(masked_job("none", 256), all), sent = play(job, rounds);
  ASSERT_EQ(sent.size(), changes.size());
  const SecureUpdate layout = layout_of(job);
  Floats unsent(changes.front().size(), 0.0f);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    if (!rounds[k].gives) continue;
    const std::vector<bool> mask = mask_of(layout, unsent.size(), rounds[k].step);
    Floats rest(unsent.size(), 0.0f);
    float largest = 0, difference = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const float change = changes[k][i] + unsent[i];
      difference = std::max(difference, std::abs(sent[k][i] - (mask[i] ? change : 0)));
      if (!mask[i]) rest[i] = change;
      largest = std::max(largest, std::abs(rest[i]));
    }
    EXPECT_LT(difference, 1e-7f) << "round " << k;
    EXPECT_GT(largest, 1e-2f) << "round " << k;  // what would be seen if it were lost, or counted twice
    if (rounds[k].counts) unsent = rest;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fates, UnsentChangeOfAWorker,
    ::testing::Values(UnsentCase{"is_in_each_sum", {{0}, {1}, {2}, {3}}},
                      UnsentCase{"is_in_a_sum_that_fails", {{0}, {1, true, false}, {1}, {2}, {3}}},
                      UnsentCase{"is_late_for_a_sum", {{0}, {1, true, false}, {2}, {3}}},
                      UnsentCase{"is_late_for_the_first_sum", {{0, true, false}, {1}, {2}}},
                      UnsentCase{"is_not_in_the_retry", {{0}, {1, true, false}, {1, false}, {2}, {3}}},
                      UnsentCase{"is_not_even_asked_in_the_retry", {{0}, {1, true, false}, {3}, {4}}},
                      UnsentCase{"is_late_more_than_once", {{0}, {1}, {2, true, false}, {3, true, false}, {4}, {7}}}),
    [](const auto& one) { return one.param.name; });

/// What the leader tells a worker with its work.
struct Told {
  std::int64_t step;
  std::optional<std::int64_t> counted;
};

Watch write_down(std::vector<Told>& told) {
  return [&told](const net::Message& message) {
    Work work;
    const auto parts = net::split_payload(message.payload);
    if (message.tag != kWorkTag || !parts.ok() || !work.ParseFromString(std::string(parts->header))) return;
    if (work.kind() != Work::TRAIN) return;
    told.push_back({work.version(), work.has_counted() ? std::optional(work.counted()) : std::nullopt});
  };
}

TEST(SecureTrainingWithDropOuts, TellsAWorkerTheLastSumThatHasItsUpdate) {
  TrainJob job = masked_job("structured_mask(0.25)", 192);
  job.set_epochs(3);
  RoleWorld world(5);
  world.use_virtual_time();
  std::vector<Told> late, other;
  int vectors = 0;
  const auto lose_the_second_vector = [&](Answer& answer, std::string& body) {
    secure::Reply reply;
    if (answer.count() > 0 || !reply.ParseFromString(body) || !reply.has_masked()) return;
    if (vectors++ == 1) answer.set_round(0);  // the leader waits for another one
  };
  change_answers(world, job, 2, lose_the_second_vector, write_down(late));
  change_answers(
      world, job, 3, [](Answer&, std::string&) {}, write_down(other));
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "a vector is lost");
  EXPECT_FALSE(outcome.has_event("secure_sum_failed"));
  ASSERT_GE(late.size(), 4u);
  for (std::size_t k = 0; k < late.size(); ++k) {
    const std::size_t last = k == 2 ? 0 : k - 1;  // the work whose update is the last in a sum
    EXPECT_EQ(late[k].counted, k == 0 ? std::nullopt : std::optional(late[last].step)) << k;
  }
  EXPECT_GT(late[2].step, late[1].step);  // the values have moved on without it
  for (std::size_t k = 0; k < other.size(); ++k)
    EXPECT_EQ(other[k].counted, k == 0 ? std::nullopt : std::optional(other[k - 1].step)) << k;
}

}  // namespace
}  // namespace mangrove::train
