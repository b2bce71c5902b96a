#include "mangrove/train/data_parallel/federated.h"

#include <gtest/gtest.h>

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

constexpr std::int64_t kFederatedSamples = 60;

/// local_steps: 0: as many as a job makes that does not say.
TrainJob federated(TrainJob job, std::int64_t local_steps) {
  job.set_strategy("federated");
  if (local_steps > 0) job.set_local_steps(local_steps);
  return job;
}

/// Two epochs with three workers or four: rounds of two local steps, the last one of an epoch smaller.
TrainJob short_job() {
  TrainJob job = federated(small_job(kFederatedSamples), 2);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  return job;
}

void expect_complete(const RoleWorld::Outcome& outcome, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "samples"), 2 * kFederatedSamples) << where;
}

// The parameter server itself is compared with one device. Momentum is linear in the gradients, so that the mean of
// velocities is the velocity of the mean.
TEST(Federated, OneLocalStepIsTheSynchronousServer) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const Graph& graph : {small_graph(), normalized_graph()}) {
    for (const char* optimizer : {"sgd", "momentum"}) {
      for (const int workers : {1, 2, 3, 5}) {
        TrainJob job = small_job(20 * 30);
        job.set_model(encode_onnx(graph));
        job.set_optimizer(optimizer);
        job.set_batch(30 / workers);
        job.set_schedule("cosine");
        job.set_warmup_steps(4);
        job.set_weight_decay(0.001f);
        job.set_ema_decay(0.9f);
        const RoleWorld::Outcome server = train(job, workers), averaged = train(federated(job, 1), workers);
        ASSERT_TRUE(averaged.leader.ok()) << averaged.leader.error().message;
        for (const Status& status : averaged.others) EXPECT_TRUE(status.ok());
        EXPECT_EQ(json_number(averaged.result(), "steps"), 20);
        EXPECT_LT(relative_difference(trained_parameters(averaged), trained_parameters(server)), 1e-5)
            << graph.name() << ", " << optimizer << ", " << workers << " workers";
      }
    }
  }
}

TEST(Federated, OneWorkerAloneTrainsAsIfItWereNot) {
  for (const char* optimizer : {"momentum", "adam"}) {
    TrainJob job = small_job(150);
    job.set_epochs(2);
    job.set_schedule("cosine");
    job.set_optimizer(optimizer);
    job.set_learning_rate(0.01f);
    job.set_epsilon(1e-3f);  // adam would divide rounding errors by nearly nothing
    const auto alone = trained_parameters(train(job, 1));
    EXPECT_LT(relative_difference(trained_parameters(train(federated(job, 4), 1)), alone), 1e-5) << optimizer;
    TrainJob by_epoch = federated(job, 0);
    by_epoch.set_local_epochs(1);
    EXPECT_LT(relative_difference(trained_parameters(train(by_epoch, 1)), alone), 1e-5) << optimizer;
  }
}

TEST(Federated, TwoRunsAreBitEqual) {
  TrainJob job = short_job();
  job.set_client_fraction(0.5f);
  job.set_outer_momentum(0.5f);
  const auto first = trained_parameters(train(job, 4));
  EXPECT_EQ(trained_parameters(train(job, 4)), first);
}

// With momentum m and rate r, the first outer step goes r (1 + m) times as far as the mean change.
TEST(Federated, OuterStepsAreNesterovs) {
  TrainJob job = federated(small_job(2 * 3 * 8), 3);  // one round of two workers
  const auto start = learn::flat_parameters(small_graph());
  const auto plain = trained_parameters(train(job, 2));
  job.set_outer_learning_rate(0.7f);
  job.set_outer_momentum(0.9f);
  const auto ahead = trained_parameters(train(job, 2));
  std::vector<float> expected(start.size());
  for (std::size_t i = 0; i < start.size(); ++i) expected[i] = start[i] + 0.7f * 1.9f * (plain[i] - start[i]);
  EXPECT_LT(relative_difference(ahead, expected), 1e-6);
  EXPECT_GT(relative_difference(ahead, plain), 1e-3);
}

TEST(Federated, RoundsAreAsLongAsTheJobSays) {
  TrainJob job = federated(small_job(4 * 48), 3);
  job.set_epochs(4);
  EXPECT_EQ(json_number(train(job, 4).result(), "steps"), 4 * 2);
  job.set_client_fraction(0.5f);
  EXPECT_EQ(json_number(train(job, 4).result(), "steps"), 4 * 4);
  job.set_client_fraction(1);
  for (const auto& [local_epochs, rounds] : {std::pair{1, 4}, {2, 2}, {3, 2}, {4, 1}, {7, 1}}) {
    job.set_local_epochs(local_epochs);
    const RoleWorld::Outcome outcome = train(job, 4);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_EQ(json_number(outcome.result(), "steps"), rounds) << local_epochs;
    EXPECT_EQ(json_number(outcome.result(), "samples"), 4 * 4 * 48) << local_epochs;
    EXPECT_EQ(json_number(outcome.result(), "epochs"), 4) << local_epochs;
  }
}

TEST(Federated, LearnsAsWellAsInStep) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = small_job(1000);
  job.set_epochs(12);
  job.set_learning_rate(0.05f);
  const double in_step = json_number(train(job, 4).result(), "accuracy");
  EXPECT_GT(in_step, 0.7);
  EXPECT_GT(json_number(train(federated(job, 4), 4).result(), "accuracy"), in_step - 0.03);
  job.set_local_epochs(1);
  EXPECT_GT(json_number(train(federated(job, 0), 4).result(), "accuracy"), in_step - 0.05);
}

struct Variant {
  const char* name;
  std::function<void(TrainJob&)> change;
};

class Rounds : public ::testing::TestWithParam<Variant> {
 protected:
  TrainJob job() const {
    TrainJob job = short_job();
    GetParam().change(job);
    return job;
  }
};

TEST_P(Rounds, AWorkerLostAtAnyMessageLeavesTheEpochComplete) {
  for (const bool after : {false, true}) {
    int k = 0;
    for (;; k += kMessageStride) {
      RoleWorld world(4);
      world.use_virtual_time();
      world.die({.rank = 2, .at_send = k, .after = after});
      const RoleWorld::Outcome outcome = train(job(), world);
      if (outcome.sent[2] <= k) break;
      expect_complete(outcome, "killed " + std::string(after ? "after" : "before") + " message " + std::to_string(k));
    }
    EXPECT_GE(k, 2);
  }
}

TEST_P(Rounds, TheLossOfAllWorkersIsAnError) {
  for (int k = 0; k < 3; ++k) {
    RoleWorld world(4);
    world.use_virtual_time();
    for (const net::Rank rank : {1, 2, 3}) world.die({.rank = rank, .at_send = k});
    const RoleWorld::Outcome outcome = train(job(), world);
    ASSERT_FALSE(outcome.leader.ok()) << k;
    EXPECT_EQ(outcome.leader.code(), Code::unavailable) << k << ": " << outcome.leader.error().message;
  }
}

TEST_P(Rounds, AnyLostMessageLeavesTheEpochComplete) {
  int k = 0;
  for (;; k += kMessageStride) {
    RoleWorld world(4);
    world.use_virtual_time();
    world.cancel_at_end();  // the lost message may be the one that ends a worker's role
    int sent = 0;           // guarded by the world's lock
    world.world().set_loss([&](net::Rank, net::Rank, net::Tag) { return sent++ == k; });
    const RoleWorld::Outcome outcome = train(job(), world);
    if (sent <= k) break;
    expect_complete(outcome, "message " + std::to_string(k));
  }
  EXPECT_GE(k, 15);
}

// A link that is cut in the middle of training: its worker falls silent, and the others go on.
TEST_P(Rounds, ACutLinkCostsOneWorker) {
  for (int k = 0; k < 12; ++k) {
    RoleWorld world(4);
    world.use_virtual_time();
    world.cancel_at_end();
    int sent = 0;  // guarded by the world's lock
    world.world().set_loss(
        [&](net::Rank from, net::Rank to, net::Tag) { return (from == 2 || to == 2) && sent++ >= k; });
    expect_complete(train(job(), world), "cut after " + std::to_string(k) + " messages");
  }
}

TEST_P(Rounds, AStoppedRunGoesOnFromItsCheckpoint) {
  TrainJob training = job();
  training.set_limit(300);
  RoleWorld world(4);
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::epoch) world.stop().request_stop();
  });
  if (training.split().starts_with("by_size")) training.set_split("by_label(1)");  // whatever the number of workers
  training.set_epochs(training.local_epochs() > 1 ? 4 : 3);
  const RoleWorld::Outcome stopped = train(training, world);
  ASSERT_EQ(stopped.leader.code(), Code::cancelled);
  training.set_resume_from(stopped.last("checkpoint").attachment);
  const RoleWorld::Outcome outcome = train(training, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "samples"), 300 * training.epochs());
}

INSTANTIATE_TEST_SUITE_P(Federated, Rounds,
                         ::testing::Values(Variant{"LocalSteps", [](TrainJob&) {}},
                                           Variant{"EndOfEpoch", [](TrainJob& job) { job.set_local_epochs(1); }},
                                           Variant{"EveryTwoEpochs", [](TrainJob& job) { job.set_local_epochs(2); }},
                                           Variant{"HalfOfThem", [](TrainJob& job) { job.set_client_fraction(0.5f); }},
                                           Variant{"Buffered", [](TrainJob& job) { job.set_consistency("k_of_n(2)"); }},
                                           Variant{"Asynchronous", [](TrainJob& job) { job.set_consistency("async"); }},
                                           Variant{"AsynchronousEpochs",
                                                   [](TrainJob& job) {
                                                     job.set_consistency("async");
                                                     job.set_local_epochs(1);
                                                   }},
                                           Variant{"Uneven", [](TrainJob& job) { job.set_split("dirichlet(0.3)"); }},
                                           Variant{"ByLabelAndEpoch",
                                                   [](TrainJob& job) {
                                                     job.set_split("by_label(2)");
                                                     job.set_local_epochs(1);
                                                   }},
                                           Variant{"BySizeBuffered",
                                                   [](TrainJob& job) {
                                                     job.set_split("by_size(1,1,4)");
                                                     job.set_consistency("k_of_n(2)");
                                                   }},
                                           Variant{"Stale", [](TrainJob& job) { job.set_consistency("stale(1)"); }}),
                         [](const auto& test) { return test.param.name; });

// But for what optimizers remember, of which plain descent has nothing.
TEST(Federated, ResumesBitEqualFromAnyRound) {
  TrainJob job = short_job();
  job.set_optimizer("sgd");
  job.set_schedule("cosine");
  job.set_outer_momentum(0.5f);
  job.set_client_fraction(0.67f);
  job.set_checkpoint_every_s(1e-9);  // after every round
  const RoleWorld::Outcome whole = train(job, 3);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  const auto checkpoints = whole.of_kind("checkpoint");
  EXPECT_EQ(checkpoints.size(), 4u);  // two rounds in each epoch
  for (const Report& checkpoint : checkpoints) {
    job.set_resume_from(checkpoint.attachment);
    const RoleWorld::Outcome resumed = train(job, 3);
    ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << checkpoint.json;
  }
}

TEST(Federated, StalenessOfBufferedAnswersIsReported) {
  TrainJob job = short_job();
  job.set_consistency("k_of_n(2)");
  const RoleWorld::Outcome outcome = train(job, 3);
  expect_complete(outcome, "k_of_n(2)");
  EXPECT_NE(outcome.result().find("\"staleness\":["), std::string::npos) << outcome.result();
  job.set_consistency("k_of_n(4)");
  EXPECT_EQ(train(job, 3).leader.error().message, "consistency: k_of_n(4) needs at least 4 nodes, got 3");
}

TEST(Federated, WorkersLearnFromTheirOwnSamples) {
  TrainJob job = federated(small_job(400), 0);
  job.set_local_epochs(1);
  job.set_split("by_size(1,7)");
  RoleWorld world(3);
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "steps"), 1) << "one round, whatever the sizes";
  EXPECT_EQ(json_number(outcome.result(), "samples"), 400);
  EXPECT_EQ(train(job, 3).leader.error().message, "split: by_size(1,7) is for 2 nodes, got 3");
}

TEST(Federated, OnlyStrategiesWithOwnDataTakeASplit) {
  TrainJob job = small_job(40);
  job.set_split("by_label(2)");
  for (const char* strategy : {"parameter_server", "all_reduce"}) {
    job.set_strategy(strategy);
    const RoleWorld::Outcome outcome = train(job, 2);
    ASSERT_EQ(outcome.leader.code(), Code::invalid_argument);
    EXPECT_NE(outcome.leader.error().message.find("'by_label(2)'"), std::string::npos);
    EXPECT_NE(outcome.leader.error().message.find(strategy), std::string::npos) << outcome.leader.error().message;
  }
}

void send_answer(job::RoleContext& context, const Answer& answer) {
  context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

/// A worker that never gets ready with a round: it says every 8 s that it has done what `done` says of the times.
RoleWorld::Role slow_worker(int times, std::function<std::int64_t(int)> done) {
  return [times, done = std::move(done)](job::RoleContext& context) -> Status {
    context.endpoint.send(0, kHelloTag, hello_of_glyphs(kFederatedSamples).SerializeAsString());
    while (true) {
      const auto message = context.endpoint.recv({0}, kWorkTag, Deadline::never());
      if (!message.ok()) return message.error();
      Work work;
      const auto parts = net::split_payload(message->payload);
      if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) continue;
      if (work.kind() == Work::END) return {};
      if (work.kind() != Work::TRAIN) continue;
      Answer answer;
      answer.set_round(work.round());
      for (int i = 1; i <= times; ++i) {
        constexpr net::Tag kNobodySends = 99;
        const auto nothing = context.endpoint.recv({0}, kNobodySends, context.clock.after(8));
        answer.set_done(done(i));
        send_answer(context, answer);
      }
    }
  };
}

TEST(Federated, AWorkerThatGetsOnMayTakeLongerThanTheTimeout) {
  for (const bool gets_on : {true, false}) {
    RoleWorld world(3);
    world.use_virtual_time();
    world.cancel_at_end();
    world.replace(2, slow_worker(5, [&](int i) { return gets_on ? i : 1; }));
    TrainJob job = short_job();
    job.set_step_timeout_s(10);
    const RoleWorld::Outcome outcome = train(job, world);
    expect_complete(outcome, gets_on ? "gets on" : "does not");
    EXPECT_TRUE(outcome.has_event(R"("reason":"silent")"));
    // 5 times 8 s, and 10 s in vain; else 8 s and 10 s
    EXPECT_GT(json_number(outcome.result(), "train_seconds"), gets_on ? 50 : 18);
    EXPECT_LT(json_number(outcome.result(), "train_seconds"), gets_on ? 300 : 150);
  }
}

Work local_work(std::int64_t samples, std::int64_t steps) {
  Work work;
  work.set_kind(Work::TRAIN);
  for (std::int64_t i = 0; i < samples; ++i) work.add_samples(static_cast<std::uint32_t>(i));
  for (std::int64_t i = 0; i < steps; ++i) work.add_learning_rates(0.1f);
  work.set_passes(1);
  return work;
}

/// What a worker sends to a leader from which all this waits for it, and then the end.
std::vector<net::Message> answers_to(std::vector<Work> works) {
  RoleWorld world(2);
  works.emplace_back().set_kind(Work::END);
  const auto values = learn::flat_parameters(small_graph());
  std::uint64_t round = 0;
  for (Work& work : works) {
    work.set_round(++round);
    std::string payload = net::begin_payload(work.SerializeAsString(), 4 * values.size());
    if (work.kind() == Work::TRAIN) net::append_floats(payload, values);
    world.world().endpoint(0).send(1, kWorkTag, std::move(payload));
  }
  world.replace(1, [](job::RoleContext& context) {
    const Status status = run_training(short_job(), context);
    context.endpoint.send(0, kPartTag, {});  // there is no more
    return status;
  });
  std::vector<net::Message> answers;
  const auto outcome = world.run([&](job::RoleContext& context) -> Status {
    while (true) {
      MG_TRY(net::Message message,
             context.endpoint.recv_any({1}, {kHelloTag, kAnswerTag, kPartTag}, Deadline::never()));
      if (message.tag == kPartTag) return {};
      answers.push_back(std::move(message));
    }
  });
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
  return answers;
}

TEST(Federated, OtherWorkEndsARoundAfterItsStep) {
  Work ping;
  ping.set_kind(Work::PING);
  const auto answers = answers_to({local_work(40, 5), ping, local_work(8, 1), local_work(40, 5)});
  ASSERT_EQ(answers.size(), 3u);  // the first round is ended by the ping, the last one by the end of the job
  EXPECT_EQ(answers[0].tag, kHelloTag);
  EXPECT_EQ(answers[1].tag, kHelloTag);
  EXPECT_EQ(answers[2].tag, kAnswerTag);
}

TEST(Federated, WorkThatDoesNotFitIsNotDone) {
  Work more_rates = local_work(40, 6), no_pass = local_work(40, 5), strange = local_work(kFederatedSamples + 1, 8);
  no_pass.set_passes(0);
  const auto answers = answers_to({more_rates, no_pass, strange});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.front().tag, kHelloTag);
}

}  // namespace
}  // namespace mangrove::train
