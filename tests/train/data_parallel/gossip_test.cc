#include "mangrove/train/data_parallel/gossip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kGossipSamples = 60;

TrainJob gossiping(TrainJob job, const std::string& neighbours, std::int64_t local_steps = 1) {
  job.set_strategy("gossip");
  job.set_neighbours(neighbours);
  job.set_local_steps(local_steps);
  return job;
}

/// Two epochs.
TrainJob gossip_job(const std::string& neighbours) {
  TrainJob job = gossiping(small_job(kGossipSamples), neighbours);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  return job;
}

void expect_gossip_complete(const RoleWorld::Outcome& outcome, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "samples"), 2 * kGossipSamples) << where;
}

// Three workers in a ring have weights of 1/3: after each step, all have the mean.
TEST(Gossip, ThreeWorkersInARingAreASynchronousServer) {
  for (const Graph& graph : {small_graph(), normalized_graph()}) {
    TrainJob job = small_job(20 * 30);
    job.set_model(encode_onnx(graph));
    job.set_batch(10);
    job.set_schedule("cosine");
    job.set_warmup_steps(4);
    job.set_weight_decay(0.001f);
    const RoleWorld::Outcome server = train(job, 3), gossip = train(gossiping(job, "ring"), 3);
    ASSERT_TRUE(gossip.leader.ok()) << gossip.leader.error().message;
    for (const Status& status : gossip.others) EXPECT_TRUE(status.ok());
    EXPECT_EQ(json_number(gossip.result(), "steps"), 20);
    EXPECT_LT(relative_difference(trained_parameters(gossip), trained_parameters(server)), 1e-5) << graph.name();
  }
}

TEST(Gossip, TwoRunsAreBitEqual) {
  for (const char* neighbours : {"ring", "random", "graph(0-1,0-2,0-3)"}) {
    const auto first = trained_parameters(train(gossip_job(neighbours), 4));
    EXPECT_EQ(trained_parameters(train(gossip_job(neighbours), 4)), first) << neighbours;
  }
}

TEST(Gossip, LearnsAsWellAsInStep) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = small_job(1000);
  job.set_epochs(12);
  job.set_learning_rate(0.05f);
  const double in_step = json_number(train(job, 5).result(), "accuracy");
  EXPECT_GT(in_step, 0.7);
  for (const char* neighbours : {"ring", "random"})
    EXPECT_GT(json_number(train(gossiping(job, neighbours, 2), 5).result(), "accuracy"), in_step - 0.03) << neighbours;
}

// The values go from worker to worker, not through rank 0.
TEST(Gossip, TheLeaderGetsValuesOnlyWhenItNeedsThem) {
  const TrainJob job = gossiping(small_job(8 * 5 * 20), "ring");  // 20 rounds with 5 workers
  const double bytes = 4 * static_cast<double>(small_graph().parameter_elements());
  RoleWorld world(6);
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_LT(static_cast<double>(world.world().endpoint(0).traffic().received_bytes), 6 * bytes) << "once from each";
}

TEST(Gossip, KeepsNoAverageOfTheWeights) {
  TrainJob job = gossip_job("ring");
  job.set_ema_decay(0.9f);
  const RoleWorld::Outcome outcome = train(job, 2);
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("ema_decay"), std::string::npos) << outcome.leader.error().message;
}

TEST(Gossip, AGraphForOtherWorkersIsRefused) {
  EXPECT_EQ(train(gossip_job("graph(0-1,1-2)"), 2).leader.code(), Code::invalid_argument);
  EXPECT_TRUE(train(gossip_job("graph(0-1,1-2)"), 3).leader.ok());
}

/// Sends work to a worker, and waits for its answer.
Result<std::string> ask(job::RoleContext& context, net::Rank rank, const Work& work, std::span<const float> values) {
  std::string payload = net::begin_payload(work.SerializeAsString(), values.size_bytes());
  net::append_floats(payload, values);
  context.endpoint.send(rank, kWorkTag, std::move(payload));
  MG_TRY(const net::Message message, context.endpoint.recv({rank}, kAnswerTag, context.clock.after(60)));
  MG_TRY(const net::PayloadParts parts, net::split_payload(message.payload));
  return std::string(parts.body);
}

// Real workers on a ring that learn nothing (rate 0) and begin with values of their own: the slowest mode, a cosine
// around the ring, shrinks by 1/3 + 2/3 cos(2 pi / n) in a round.
TEST(Gossip, WorkersOnARingComeToAgreeAsFastAsTheorySays) {
  constexpr int kWorkers = 5, kRounds = 8;
  const auto start = learn::flat_parameters(small_graph());
  std::vector<double> at(kRounds + 1);  // of the first worker, how far the first value is from the mean
  RoleWorld world(kWorkers + 1);
  const auto outcome = world.run([&](job::RoleContext& context) -> Status {
    if (context.endpoint.rank() > 0) return run_training(gossip_job("ring"), context);
    for (net::Rank rank = 1; rank <= kWorkers; ++rank)
      MG_RETURN_IF_ERROR(context.endpoint.recv({rank}, kHelloTag, context.clock.after(60)));
    for (int round = 0; round < kRounds; ++round) {
      for (net::Rank rank = 1; rank <= kWorkers; ++rank) {
        Work work;
        work.set_kind(Work::TRAIN);
        work.set_round(static_cast<std::uint64_t>(round) + 1);
        work.set_version(round);
        work.add_samples(0);
        work.add_learning_rates(0);
        work.set_passes(1);
        work.mutable_averaging()->set_id(static_cast<std::uint64_t>(round) + 1);
        for (const net::Rank neighbour : {rank % kWorkers + 1, (rank + kWorkers - 2) % kWorkers + 1}) {
          work.mutable_averaging()->add_ranks(neighbour);
          work.mutable_averaging()->add_weights(1.0f / 3);
        }
        std::vector<float> values = start;
        values[0] = std::cos(2 * std::numbers::pi_v<float> * static_cast<float>(rank - 1) / kWorkers);
        std::string payload = net::begin_payload(work.SerializeAsString(), 4 * values.size());
        if (round == 0) net::append_floats(payload, values);
        context.endpoint.send(rank, kWorkTag, std::move(payload));
      }
      for (net::Rank rank = 1; rank <= kWorkers; ++rank)
        MG_RETURN_IF_ERROR(context.endpoint.recv({rank}, kAnswerTag, context.clock.after(60)));
      Work collect;
      collect.set_kind(Work::COLLECT);
      MG_TRY(const std::string body, ask(context, 1, collect, {}));
      std::vector<float> values(start.size());
      MG_RETURN_IF_ERROR(net::read_floats(body, values));
      at[static_cast<std::size_t>(round) + 1] = values[0];
      for (std::size_t i = 1; i < start.size(); ++i) {
        if (std::abs(values[i] - start[i]) > 1e-5f)
          return make_error(Code::internal, "a value that was the same moved");
      }
    }
    Work end;
    end.set_kind(Work::END);
    for (net::Rank rank = 1; rank <= kWorkers; ++rank)
      context.endpoint.send(rank, kWorkTag, net::begin_payload(end.SerializeAsString(), 0));
    return {};
  });
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  at[0] = 1;
  const double factor = 1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / kWorkers);
  for (std::size_t round = 1; round < at.size(); ++round) EXPECT_NEAR(at[round], factor * at[round - 1], 1e-5) << round;
}

class Exchanges : public ::testing::TestWithParam<const char*> {};

TEST_P(Exchanges, AWorkerLostAtAnyMessageLeavesTheEpochComplete) {
  for (const bool after : {false, true}) {
    int k = 0;
    for (;; k += kMessageStride) {
      RoleWorld world(5);
      world.use_virtual_time();
      world.die({.rank = 2, .at_send = k, .after = after});
      const RoleWorld::Outcome outcome = train(gossip_job(GetParam()), world);
      if (outcome.sent[2] <= k) break;
      expect_gossip_complete(outcome,
                             "killed " + std::string(after ? "after" : "before") + " message " + std::to_string(k));
    }
    EXPECT_GE(k, 6);
  }
}

TEST_P(Exchanges, AnyLostMessageLeavesTheEpochComplete) {
  int k = 0;
  for (;; k += kMessageStride) {
    RoleWorld world(5);
    world.use_virtual_time();
    world.cancel_at_end();  // the lost message may be the one that ends a worker's role
    int sent = 0;           // guarded by the world's lock
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag) { return sent++ == k; });
    const RoleWorld::Outcome outcome = train(gossip_job(GetParam()), world);
    if (sent <= k) break;
    expect_gossip_complete(outcome, "message " + std::to_string(k));
  }
  EXPECT_GE(k, 40);
}

// Both ends of a link are well, but nothing passes: they average with others, and nobody is left out.
TEST_P(Exchanges, ABrokenLinkStopsNobody) {
  for (net::Rank a = 1; a <= 4; ++a) {
    for (net::Rank b = a + 1; b <= 4; ++b) {
      RoleWorld world(5);
      world.use_virtual_time();
      world.world().set_loss(
          [&](net::Rank from, net::Rank to, net::Tag) { return (from == a && to == b) || (from == b && to == a); });
      const RoleWorld::Outcome outcome = train(gossip_job(GetParam()), world);
      const std::string where = "link between " + std::to_string(a) + " and " + std::to_string(b);
      expect_gossip_complete(outcome, where);
      EXPECT_EQ(json_number(outcome.result(), "workers"), 4) << where;
    }
  }
}

TEST_P(Exchanges, AWorkerThatIsCutOffCostsItsSamplesAnewOnly) {
  for (int k = 0; k < 16; ++k) {
    RoleWorld world(5);
    world.use_virtual_time();
    world.cancel_at_end();
    int sent = 0;  // guarded by the world's lock
    world.world().set_loss(
        [&](net::Rank from, net::Rank to, net::Tag) { return (from == 3 || to == 3) && sent++ >= k; });
    expect_gossip_complete(train(gossip_job(GetParam()), world), "cut after " + std::to_string(k) + " messages");
  }
}

TEST_P(Exchanges, AStoppedRunGoesOnFromItsCheckpoint) {
  TrainJob job = gossip_job(GetParam());
  job.set_limit(600);
  job.set_epochs(3);
  for (const ReportKind at : {ReportKind::progress, ReportKind::epoch}) {
    RoleWorld world(5);
    world.on_report([&](const Report& report) {
      if (report.kind == at) world.stop().request_stop();
    });
    job.clear_resume_from();
    const RoleWorld::Outcome stopped = train(job, world);
    ASSERT_EQ(stopped.leader.code(), Code::cancelled) << stopped.leader.error().message;
    job.set_resume_from(stopped.last("checkpoint").attachment);
    const RoleWorld::Outcome outcome = train(job, 4);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_EQ(json_number(outcome.result(), "samples"), 3 * 600) << report_kind_name(at);
  }
}

INSTANTIATE_TEST_SUITE_P(Gossip, Exchanges, ::testing::Values("ring", "random", "graph(0-1,0-2,0-3)"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('('));
                         });

}  // namespace
}  // namespace mangrove::train
