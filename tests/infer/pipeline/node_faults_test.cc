#include <gtest/gtest.h>

#include <functional>

#include "tests/infer/inference_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/base/random.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/pipeline/pipeline.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kNodeFaultsSamples = 30;

TEST(LostStage, AtAnyOfItsMessagesLosesNoImage) {
  for (const net::Rank rank : {1, 2, 3}) {
    for (const bool after : {false, true}) {
      int k = 0;
      for (;; ++k) {
        RoleWorld world(4);
        world.die({.rank = rank, .at_send = k, .after = after});
        const RoleWorld::Outcome outcome = infer(small_job(kNodeFaultsSamples, 3), world);
        if (outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
        expect_exact(outcome, kNodeFaultsSamples, "rank " + std::to_string(rank) + ", message " + std::to_string(k));
      }
      EXPECT_GE(k, 9) << "a hello, a ready, eight micro-batches";
    }
  }
}

/// Runs with one rank that dies at ever later messages, until `event` is there.
bool happens(const InferJob& job, int nodes, const std::string& event) {
  for (int k = 12; k < 60; k += 2) {
    for (net::Rank rank = 1; rank <= nodes; ++rank) {
      RoleWorld world(nodes + 1);
      world.die({.rank = rank, .at_send = k});
      const RoleWorld::Outcome outcome = infer(job, world);
      expect_exact(outcome, kNodeFaultsSamples, "rank " + std::to_string(rank) + ", message " + std::to_string(k));
      if (outcome.has_event(event)) return true;
    }
  }
  return false;
}

TEST(LostStage, MovesToASpareNode) {
  EXPECT_TRUE(happens(small_job(kNodeFaultsSamples, 3), 4, R"("event":"stage_moved")"));
}

TEST(LostStage, IsPlannedAnewWithoutASpareNode) {
  EXPECT_TRUE(happens(small_job(kNodeFaultsSamples, 3), 3, R"("event":"replanned")"));
}

TEST(LostStage, TwoOfThreeAtOnceLeaveOneNodeWithAllStages) {
  for (int k = 2; k < 6; ++k) {
    RoleWorld world(4);
    world.die({.rank = 1, .at_send = k + 3});
    world.die({.rank = 3, .at_send = k});
    expect_exact(infer(small_job(kNodeFaultsSamples, 3), world), kNodeFaultsSamples, "message " + std::to_string(k));
  }
}

TEST(LostStage, AllOfThemIsAClearError) {
  for (int k = 0; k < 5; ++k) {
    RoleWorld world(3);
    for (const net::Rank rank : {1, 2}) world.die({.rank = rank, .at_send = k});
    const RoleWorld::Outcome outcome = infer(small_job(kNodeFaultsSamples, 2), world);
    ASSERT_FALSE(outcome.leader.ok()) << k;
    EXPECT_EQ(outcome.leader.code(), Code::unavailable);
    EXPECT_NE(outcome.leader.error().message.find("no node is left"), std::string::npos)
        << outcome.leader.error().message;
  }
}

TEST(LostMessage, WhicheverItIsLosesNoImage) {
  InferJob job = small_job(kNodeFaultsSamples, 2);
  job.set_answer_timeout_s(0.25);
  int k = 0;
  for (;; ++k) {
    RoleWorld world(3);
    int sent = 0;  // guarded by the world's lock
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) {
      return tag != kCommandTag && tag != kProbeTag && sent++ == k;  // commands and probes: below
    });
    const RoleWorld::Outcome outcome = infer(job, world);
    if (sent <= k) break;
    expect_exact(outcome, kNodeFaultsSamples, "message " + std::to_string(k));
  }
  EXPECT_GE(k, 4 + 2 + 2 + 2 + 1 + 2 + 16);
}

TEST(LostMessage, WhicheverCommandItIsLosesNoImage) {
  InferJob job = small_job(kNodeFaultsSamples, 2);
  job.set_answer_timeout_s(0.25);
  const int commands = 2 + 2 + 1 + 2 + 8;  // profile, link, single, place, feed: after these come the ENDs
  for (int k = 0; k < commands; ++k) {
    RoleWorld world(3);
    int sent = 0;
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) { return tag == kCommandTag && sent++ == k; });
    expect_exact(infer(job, world), kNodeFaultsSamples, "command " + std::to_string(k));
  }
}

TEST(LostMessage, WhicheverProbeItIsLosesNoImage) {
  InferJob job = small_job(kNodeFaultsSamples, 2);
  job.set_answer_timeout_s(0.25);
  for (const int k : {0, 5, 11}) {
    RoleWorld world(3);
    int sent = 0;
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) { return tag == kProbeTag && sent++ == k; });
    expect_exact(infer(job, world), kNodeFaultsSamples, "probe " + std::to_string(k));
    EXPECT_GT(sent, k);
  }
}

Status until_end(job::RoleContext& context, const std::function<void(const Command&)>& on_command) {
  while (true) {
    Result<net::Message> message = context.endpoint.recv({0}, kCommandTag, context.clock.after(60));
    if (!message.ok()) return message.error();
    Command command;
    if (!command.ParseFromString(message->payload)) continue;
    if (command.kind() == Command::END) return {};
    on_command(command);
  }
}

void say_hello(job::RoleContext& context, std::int64_t samples) {
  FromNode message;
  Hello& hello = *message.mutable_hello();
  hello.set_samples(samples);
  for (int c = 0; c < 10; ++c) hello.add_classes(std::to_string(c));
  for (const int size : {1, 28, 28}) hello.add_sample_shape(size);
  context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

TEST(DifferentData, LeavesTheMinorityOut) {
  RoleWorld world(4);
  world.replace(3, [](job::RoleContext& context) {
    say_hello(context, kNodeFaultsSamples + 1);
    return until_end(context, [](const Command& command) { EXPECT_EQ(command.kind(), Command::PING); });
  });
  InferJob job = small_job(kNodeFaultsSamples, 2);
  job.set_answer_timeout_s(20);
  const RoleWorld::Outcome outcome = infer(job, world);
  expect_exact(outcome, kNodeFaultsSamples, "other data");
  EXPECT_TRUE(outcome.has_event(R"("event":"node_left_out","node":"rank-3")"));
}

TEST(DifferentData, WhatNoDeviceHasDoesNotOutvoteTheOthers) {
  for (const std::int64_t impossible : {std::int64_t{-1}, std::int64_t{1} << 32, std::int64_t{1} << 62}) {
    RoleWorld world(4);
    for (const net::Rank liar : {2, 3}) {
      world.replace(liar, [&](job::RoleContext& context) {
        say_hello(context, impossible);
        return until_end(context, [](const Command& command) { EXPECT_EQ(command.kind(), Command::PING); });
      });
    }
    InferJob job = small_job(kNodeFaultsSamples, 1);
    job.set_answer_timeout_s(20);
    const RoleWorld::Outcome outcome = infer(job, world);
    expect_exact(outcome, kNodeFaultsSamples, std::to_string(impossible));
    EXPECT_TRUE(outcome.has_event(R"("event":"node_left_out","node":"rank-2 and rank-3")"));
  }
}

std::string random_bytes(Random& random) {
  std::string bytes(random.below(60), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

/// Messages that can be read but make no sense, and such that cannot.
std::string nonsense(Random& random) {
  FromNode message;
  switch (random.below(6)) {
    case 0:
      message.mutable_profile()->set_request(random.below(3));
      break;
    case 1: {
      SingleChunk& chunk = *message.mutable_single();
      chunk.set_request(random.below(3));
      chunk.set_begin(static_cast<std::int64_t>(random.next()));
      for (std::uint64_t n = random.below(9); n > 0; --n)
        chunk.add_predictions(static_cast<std::int32_t>(random.next()));
      for (std::uint64_t n = random.below(9); n > 0; --n) chunk.add_truths(static_cast<std::int32_t>(random.next()));
      break;
    }
    case 2:
      message.mutable_ready()->set_generation(random.below(4));
      break;
    case 3: {
      Predictions& predictions = *message.mutable_predictions();
      predictions.set_generation(random.below(3));
      predictions.set_micro_batch(random.below(12));
      for (std::uint64_t n = random.below(6); n > 0; --n)
        predictions.add_classes(static_cast<std::int32_t>(random.next()));
      break;
    }
    case 4:
      message.mutable_link()->set_rate(random.below(2) == 0 ? -1 : 1e300);
      break;
    default:
      return random_bytes(random);
  }
  return message.SerializeAsString();
}

TEST(Garbage, FromANodeHarmsNobody) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RoleWorld world(4);
    world.replace(3, [&](job::RoleContext& context) {
      Random random(seed);
      for (int i = 0; i < 400; ++i) {
        const auto to = static_cast<net::Rank>(random.below(4));
        if (random.below(2) == 0) {
          context.endpoint.send(to, static_cast<net::Tag>(random.below(7)), random_bytes(random));
        } else if (to == 0) {
          context.endpoint.send(to, kFromNodeTag, nonsense(random));
        } else {
          Activation header;
          header.set_generation(random.below(3));
          header.set_stage(static_cast<std::uint32_t>(random.below(4)));
          header.set_count(static_cast<std::int64_t>(random.below(8)) - 2);
          context.endpoint.send(to, kActivationTag,
                                net::begin_payload(header.SerializeAsString(), 0) + random_bytes(random));
        }
      }
      return until_end(context, [](const Command&) {});
    });
    InferJob job = small_job(kNodeFaultsSamples, 2);
    job.set_answer_timeout_s(0.5);
    expect_exact(infer(job, world), kNodeFaultsSamples, "seed " + std::to_string(seed));
  }
}

TEST(Garbage, FromTheLeaderHarmsNoNode) {
  RoleWorld world(2);
  const InferJob job = small_job(kNodeFaultsSamples, 2);
  world.replace(1, [&](job::RoleContext& context) { return run_pipeline(job, context); });
  Random random(3);
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    MG_TRY(const net::Message question, context.endpoint.recv({1}, kFromNodeTag, context.clock.after(60)));
    FromNode need;
    EXPECT_TRUE(need.ParseFromString(question.payload) && need.has_need_network());
    EXPECT_TRUE(NetworkServer(job).answer(context.endpoint, 1, need.need_network()).ok());
    for (int i = 0; i < 1000; ++i) {
      Command command;
      command.set_kind(static_cast<Command::Kind>(2 + random.below(4)));
      command.set_generation(random.below(5));
      command.set_begin(static_cast<std::int64_t>(random.next()));
      command.set_count(static_cast<std::int64_t>(random.below(9)) - 2);
      for (std::uint64_t n = random.below(3); n > 0; --n)
        command.add_route(static_cast<std::int32_t>(random.below(5)) - 2);
      for (std::uint64_t n = random.below(3); n > 0; --n) {
        StagePlace& place = *command.add_stages();
        place.set_first(static_cast<std::uint32_t>(random.below(9)));
        place.set_last(static_cast<std::uint32_t>(random.below(9)));
        for (std::uint64_t r = random.below(3); r > 0; --r)
          place.add_ranks(static_cast<std::int32_t>(random.below(5)) - 2);
      }
      context.endpoint.send(1, kCommandTag, i % 2 == 0 ? command.SerializeAsString() : random_bytes(random));
    }
    Command end;
    end.set_kind(Command::END);
    context.endpoint.send(1, kCommandTag, end.SerializeAsString());
    return {};
  });
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
}

/// Runs the job on three nodes; rank 3 says hello, and what this leaves of its other messages. Returns who is idle.
std::map<net::Rank, bool> idle_in(const InferJob& job, const std::function<bool(const FromNode&)>& leaves) {
  RoleWorld world(4);
  world.use_virtual_time();
  world.replace(3, [&](job::RoleContext& context) {
    WatchedEndpoint endpoint(context.endpoint);
    endpoint.on_send = [&](net::Rank, net::Tag tag, std::string& payload) {
      FromNode message;
      if (tag != kFromNodeTag || !message.ParseFromString(payload)) return;
      if (!message.has_hello() && !message.has_need_network() && !leaves(message)) payload.clear();
    };
    job::RoleContext watched = with_endpoint(context, endpoint);
    return run_inference(without_networks(job), watched);
  });
  std::map<net::Rank, bool> idle;
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) {
    if (context.endpoint.rank() != 0) return run_inference(without_networks(job), context);
    job::RoleContext leader = context;
    leader.idle = [&](net::Rank rank, bool is_idle) { idle[rank] = is_idle; };
    return run_inference(job, leader);
  });
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return idle;
}

TEST(MuteNode, ThatSaysHelloAndMeasuresNothingIsIdle) {
  for (const char* strategy : {"pipeline", "single"}) {
    InferJob job = small_job(kNodeFaultsSamples, 0);
    job.set_strategy(strategy);
    job.set_answer_timeout_s(2);
    const std::map<net::Rank, bool> third{{1, false}, {2, false}, {3, true}};
    EXPECT_EQ(idle_in(job, [](const FromNode&) { return false; }), third) << strategy;
    EXPECT_EQ(idle_in(job, [](const FromNode& message) { return message.has_link(); }), third)
        << strategy << ": a link is not enough";
  }
}

TEST(MuteNode, ThatHasMeasuredItselfIsNotIdleInSingle) {
  InferJob job = small_job(kNodeFaultsSamples, 0);
  job.set_strategy("single");
  job.set_answer_timeout_s(2);
  const std::map<net::Rank, bool> none{{1, false}, {2, false}, {3, false}};
  EXPECT_EQ(idle_in(job, [](const FromNode& message) { return message.has_profile(); }), none);
}

}  // namespace
}  // namespace mangrove::infer
