#include <gtest/gtest.h>

#include <algorithm>

#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kWorkerFaultsSamples = 60;

TrainJob job_with_timeout(double step_timeout_s) {
  TrainJob job = small_job(kWorkerFaultsSamples);
  job.set_epochs(2);
  job.set_step_timeout_s(step_timeout_s);
  return job;
}

TEST(LostWorker, IsReportedWithItsSamples) {
  RoleWorld world(3);
  world.use_virtual_time();
  world.die({.rank = 1, .at_send = 2});  // in the second step
  const RoleWorld::Outcome outcome = train(job_with_timeout(20), world);
  expect_complete(outcome, job_with_timeout(20), "second step");
  EXPECT_TRUE(outcome.has_event(R"("event":"work_reassigned","node":"rank-1","reason":"lost","samples":8,"step":1)"));
  EXPECT_EQ(json_number(outcome.result(), "workers"), 1);
}

TEST(LostWorker, AllButOneAtOnceIsEnough) {
  RoleWorld world(5);
  world.use_virtual_time();
  for (const net::Rank rank : {1, 2, 4}) world.die({.rank = rank, .at_send = 2});
  expect_complete(train(job_with_timeout(20), world), job_with_timeout(20), "three at once");
}

TEST(LostWorker, AllOfThemIsAClearError) {
  for (int k = 0; k < 7; ++k) {
    RoleWorld world(4);
    world.use_virtual_time();
    for (const net::Rank rank : {1, 2, 3}) world.die({.rank = rank, .at_send = k});
    const RoleWorld::Outcome outcome = train(job_with_timeout(20), world);
    ASSERT_FALSE(outcome.leader.ok()) << k;
    EXPECT_EQ(outcome.leader.code(), Code::unavailable);
    EXPECT_NE(outcome.leader.error().message.find("no worker is left"), std::string::npos)
        << outcome.leader.error().message;
  }
}

/// Waits until the server is done with it.
Status until_end(job::RoleContext& context, const std::function<void(const Work&)>& on_work) {
  while (true) {
    Result<net::Message> message = context.endpoint.recv({0}, kWorkTag, context.clock.after(60));
    if (!message.ok()) return message.error();
    Work work;
    const auto parts = net::split_payload(message->payload);
    if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) continue;
    if (work.kind() == Work::END) return {};
    on_work(work);
  }
}

TEST(SilentWorker, IsLeftOutOfTheStep) {
  RoleWorld world(3);
  world.use_virtual_time();
  world.replace(2, [](job::RoleContext& context) {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    return until_end(context, [](const Work&) {});
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(0.25), world);
  expect_complete(outcome, job_with_timeout(20), "silent worker");
  EXPECT_TRUE(outcome.has_event(R"("reason":"silent")"));
}

TEST(SilentWorker, IsUsedAgainWhenItAnswers) {
  RoleWorld world(3);
  world.use_virtual_time();
  int given = 0;
  world.replace(2, [&](job::RoleContext& context) {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    return until_end(context, [&](const Work& work) {
      given += work.kind() == Work::PING ? 0 : 1;
      if (work.kind() == Work::PING)
        context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    });
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(0.25), world);
  expect_complete(outcome, job_with_timeout(20), "answers pings only");
  EXPECT_TRUE(outcome.has_event("worker_back"));
  EXPECT_EQ(given, 3);
  EXPECT_TRUE(outcome.has_event("3 times in a row"));
}

TEST(SilentWorker, AllOfThemIsAClearError) {
  RoleWorld world(2);
  world.use_virtual_time();
  world.replace(1, [](job::RoleContext& context) {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    return until_end(context, [](const Work&) {});
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(0.1), world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
  EXPECT_NE(outcome.leader.error().message.find("step_timeout_s"), std::string::npos) << outcome.leader.error().message;
}

TEST(SlowWorker, AloneIsAnErrorInsteadOfForEver) {
  RoleWorld world(2);
  world.use_virtual_time();
  world.replace(1, [&](job::RoleContext& context) {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    return until_end(context, [&](const Work& work) {
      if (work.kind() == Work::PING)
        context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    });
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(0.1), world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
  EXPECT_NE(outcome.leader.error().message.find("3 times in a row"), std::string::npos)
      << outcome.leader.error().message;
}

TEST(DifferentData, LeavesTheMinorityOut) {
  RoleWorld world(4);
  world.use_virtual_time();
  world.replace(1, [](job::RoleContext& context) {
    Hello hello = hello_of_glyphs(kWorkerFaultsSamples);
    hello.set_train_samples(kWorkerFaultsSamples - 1);
    context.endpoint.send(0, kHelloTag, hello.SerializeAsString());
    return until_end(context, [](const Work&) { FAIL() << "work for a worker that was left out"; });
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(20), world);
  expect_complete(outcome, job_with_timeout(20), "other data");
  EXPECT_TRUE(outcome.has_event(R"("event":"worker_left_out","node":"rank-1")"));
  EXPECT_EQ(json_number(outcome.result(), "workers"), 2);
}

TEST(FailingWorker, GivesItsSamplesBack) {
  RoleWorld world(3);
  world.use_virtual_time();
  world.replace(1, [](job::RoleContext& context) {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
    return until_end(context, [&](const Work&) {
      Hello hello;
      hello.set_code(static_cast<int>(Code::data_loss));
      hello.set_message("sample 3 is broken");
      context.endpoint.send(0, kHelloTag, hello.SerializeAsString());
    });
  });
  const RoleWorld::Outcome outcome = train(job_with_timeout(20), world);
  expect_complete(outcome, job_with_timeout(20), "failing worker");
  EXPECT_TRUE(outcome.has_event("sample 3 is broken"));
  EXPECT_TRUE(outcome.has_event(R"("reason":"failed")"));
}

std::string random_bytes(Random& random) {
  std::string bytes(random.below(60), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

class Garbage : public ::testing::TestWithParam<std::string_view> {
 protected:
  static TrainJob job(double step_timeout_s) {
    TrainJob job = job_with_timeout(step_timeout_s);
    job.set_strategy(std::string(GetParam()));
    job.set_local_steps(2);
    return job;
  }
};

TEST_P(Garbage, FromAWorkerHarmsNobodyElse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RoleWorld world(3);
    world.use_virtual_time();
    world.replace(2, [&](job::RoleContext& context) {
      Random random(seed);
      if (seed % 2 == 0) context.endpoint.send(0, kHelloTag, hello_of_glyphs(kWorkerFaultsSamples).SerializeAsString());
      for (int i = 0; i < 300; ++i) {
        const auto to = static_cast<net::Rank>(random.below(3));
        context.endpoint.send(to, static_cast<net::Tag>(random.below(6)), random_bytes(random));
      }
      return until_end(context, [&](const Work& work) {
        Answer answer;  // to the right round, but wrong in all other ways
        answer.set_round(work.round());
        answer.set_count(static_cast<std::int64_t>(random.below(3)) - 1);
        for (std::uint64_t n = random.below(20); n > 0; --n)
          answer.add_predictions(static_cast<std::int32_t>(random.next()));
        context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0) + random_bytes(random));
      });
    });
    expect_complete(train(job(0.3), world), job_with_timeout(0.3), "seed " + std::to_string(seed));
  }
}

TEST_P(Garbage, FromTheServerHarmsNoWorker) {
  Random random(5);
  RoleWorld world(2);
  world.use_virtual_time();
  world.replace(1, [&](job::RoleContext& context) {
    const TrainJob copy = job(20);
    return run_training(copy, context);
  });
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    for (int i = 0; i < 2000; ++i) {
      std::string payload = random_bytes(random);
      Work work;  // half of them can be read, but are for data and parameters that the worker has not
      const std::uint64_t kind = random.below(5);
      work.set_kind(kind == Work::END ? Work::COLLECT : static_cast<Work::Kind>(kind));
      work.set_round(static_cast<std::uint64_t>(i) + 1);
      work.set_version(static_cast<std::int64_t>(random.below(3)) - 1);
      for (std::uint64_t n = random.below(20); n > 0; --n) work.add_samples(static_cast<std::uint32_t>(random.next()));
      for (std::uint64_t n = random.below(4); n > 0; --n) work.add_learning_rates(static_cast<float>(random.normal()));
      work.set_passes(static_cast<std::int64_t>(random.below(4)) - 1);
      for (std::uint64_t n = random.below(4); n > 0; --n) {
        work.mutable_averaging()->add_ranks(static_cast<std::int32_t>(random.next()));
        work.mutable_averaging()->add_weights(static_cast<float>(random.normal()));
      }
      if (i % 2 == 0) payload = net::begin_payload(work.SerializeAsString(), 0) + payload;
      context.endpoint.send(1, kWorkTag, std::move(payload));
    }
    Work end;
    end.set_kind(Work::END);
    context.endpoint.send(1, kWorkTag, net::begin_payload(end.SerializeAsString(), 0));
    return {};
  });
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
}

std::vector<std::string_view> all_strategies() {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies()) names.push_back(strategy.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Garbage, ::testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace mangrove::train
