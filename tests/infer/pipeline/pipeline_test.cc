#include "mangrove/infer/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/infer/inference_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {
namespace {

struct Case {
  int stages;
  int nodes;
  std::int64_t micro_batch;
  std::int64_t samples;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.stages << " stages, " << c.nodes << " nodes, micro-batches of " << c.micro_batch << ", " << c.samples
       << " samples";
}

class Pipeline : public ::testing::TestWithParam<Case> {};

TEST_P(Pipeline, AgreesWithTheUnsplitNetwork) {
  const Case& c = GetParam();
  InferJob job = small_job(c.samples, c.stages);
  job.set_micro_batch(c.micro_batch);
  const RoleWorld::Outcome outcome = infer(job, c.nodes);
  expect_exact(outcome, c.samples, "run");
  for (const Status& status : outcome.others) EXPECT_TRUE(status.ok());
  EXPECT_EQ(json_number(outcome.result(), "repeated"), 0);
}

INSTANTIATE_TEST_SUITE_P(Stages, Pipeline,
                         ::testing::Values(Case{1, 1, 4, 30}, Case{2, 2, 4, 30}, Case{3, 3, 4, 30}, Case{4, 4, 4, 30},
                                           Case{5, 5, 4, 30}, Case{0, 3, 4, 30}));
INSTANTIATE_TEST_SUITE_P(MicroBatches, Pipeline,
                         ::testing::Values(Case{3, 3, 1, 11}, Case{3, 3, 7, 30}, Case{3, 3, 30, 30}, Case{3, 3, 64, 30},
                                           Case{2, 2, 8, 1}));
INSTANTIATE_TEST_SUITE_P(Nodes, Pipeline,
                         ::testing::Values(Case{3, 1, 4, 30}, Case{5, 2, 4, 30}, Case{5, 3, 4, 30}, Case{2, 5, 4, 30}));

TEST(PipelineOfSkips, CarriesEveryValueThatCrossesACut) {
  for (int stages = 1; stages <= 5; ++stages) {
    InferJob job = small_job(30, stages);
    job.set_model(encode_onnx(skipping_graph()));
    expect_exact(infer(job, 3), 30, std::to_string(stages) + " stages");
  }
}

TEST(PipelineWindow, OfOneStillFinishes) {
  InferJob job = small_job(30, 3);
  job.set_window(1);
  expect_exact(infer(job, 3), 30, "window 1");
}

TEST(PipelineResult, HasAllKeys) {
  const RoleWorld::Outcome outcome = infer(small_job(40, 3), 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::string result = outcome.result();
  for (const char* key : {"images",
                          "accuracy",
                          "macro_f1",
                          "images_per_s",
                          "single_images_per_s",
                          "speedup",
                          "agreement",
                          "lost",
                          "duplicated",
                          "seconds",
                          "micro_batch",
                          "window",
                          "utilisation",
                          "predicted_seconds",
                          "sent_bytes",
                          "bytes_per_image",
                          "predicted_images_per_s",
                          "busy_s",
                          "predicted_busy_s",
                          "predicted_utilisation",
                          "queue_mean",
                          "queue_max",
                          "p50_s",
                          "p95_s",
                          "p99_s",
                          "predicted_latency_s",
                          "round_trip_s",
                          "cores"}) {
    EXPECT_GE(json_number(result, key), 0) << key << " in " << result;
  }
  EXPECT_GE(json_number(result, "window"), 8);
  EXPECT_NE(result.find(R"("operators":["conv","relu")"), std::string::npos) << result;
  EXPECT_GT(json_number(result, "sent_bytes"), 0) << result;
  bool single = false, pipeline = false;
  for (const Report& report : outcome.of_kind("progress")) {
    single |= report.json.find(R"("phase":"single")") != std::string::npos;
    pipeline |= report.json.find(R"("phase":"pipeline")") != std::string::npos;
  }
  EXPECT_TRUE(single && pipeline);
}

TEST(PipelineMeasurements, OfLinksAreDoneBeforeThoseOfOperatorsBegin) {
  const InferJob job = small_job(30, 3);
  RoleWorld world(4);
  int links = 0, profiles = 0;
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) {
    if (context.endpoint.rank() != 0) return run_inference(without_networks(job), context);
    WatchedEndpoint endpoint(context.endpoint);
    endpoint.on_receive = [&](const Result<net::Message>& message) {
      FromNode said;
      if (message.ok() && message->tag == kFromNodeTag && said.ParseFromString(message->payload) && said.has_link())
        ++links;
    };
    endpoint.on_send = [&](net::Rank, net::Tag tag, const std::string& payload) {
      Command command;
      if (tag != kCommandTag || !command.ParseFromString(payload) || command.kind() != Command::PROFILE) return;
      EXPECT_EQ(links, 3) << "what probes leave in a process is in the memory that is measured";
      ++profiles;
    };
    job::RoleContext watched = with_endpoint(context, endpoint);
    return run_inference(job, watched);
  });
  expect_exact(outcome, 30, "watched");
  EXPECT_GE(profiles, 3);
}

TEST(PipelineActivations, InFewerBytesChangeFewAnswers) {
  for (const auto& [encoding, ratio] : {std::pair{"fp16", 2.0}, {"int8", 3.9}}) {
    InferJob job = small_job(30, 0);
    job.set_activations(encoding);
    job.add_cuts("flatten");
    job.add_cuts("fc2");
    const RoleWorld::Outcome outcome = infer(job, 3);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    const std::string result = outcome.result();
    EXPECT_GE(json_number(result, "agreement"), 0.9) << encoding;
    EXPECT_NEAR(json_number(result, "changed_predictions"), 1 - json_number(result, "agreement"), 1e-9);
    const double bytes = result.find("\"activations\"") == std::string::npos
                             ? 0
                             : json_number(result.substr(result.find("\"activations\"")), "sent_bytes");
    EXPECT_GT(json_number(result, "saved_bytes"), 0.8 * (ratio - 1) * bytes) << encoding;
    EXPECT_LT(bytes, 30 * 4 * (144 + 16) / ratio * 1.6) << encoding;  // with headers
  }
}

TEST(PipelineCuts, AreWhereTheJobSays) {
  InferJob job = small_job(30, 0);
  job.add_cuts("flatten");
  job.add_cuts("h");  // the value that fc1 makes
  const RoleWorld::Outcome outcome = infer(job, 4);
  expect_exact(outcome, 30, "cuts");
  const std::string result = outcome.result();
  for (const char* stage :
       {R"("operators":["conv","relu","pool"])", R"("operators":["flatten"])", R"("operators":["fc1","tanh","fc2"])"})
    EXPECT_NE(result.find(stage), std::string::npos) << stage << " in " << result;
}

/// The first stage's board takes 5 ms more for each micro-batch from the tenth on.
TEST(PipelineReplanner, MovesAwayFromABoardThatBecomesSlowerAndLosesNothing) {
  InferJob job = small_job(1200, 2);
  RoleWorld world(4);
  std::atomic<net::Rank> slow = 0;
  std::atomic<int> sent = 0;
  const SteadyClock clock;
  world.world().set_loss([&](net::Rank from, net::Rank, net::Tag tag) {
    if (tag == kActivationTag && ++sent == 10) slow = from;
    return false;
  });
  world.on_send([&](net::Rank from, net::Rank, int) {
    const Deadline until = clock.after(0.005);
    while (slow == from && clock.now() < until) {  // computes: so it counts on any machine
    }
  });
  const RoleWorld::Outcome outcome = infer(job, world);
  expect_exact(outcome, 1200, "slow board");
  EXPECT_TRUE(outcome.has_event(R"("event":"revised")"));
  EXPECT_EQ(json_number(outcome.result(), "repeated"), 0);
}

TEST(RunInference, RefusesMoreStagesThanLayersNamingBoth) {
  const RoleWorld::Outcome outcome = infer(small_job(10, 8), 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("8 stages cannot be cut from the 5 layers"), std::string::npos)
      << outcome.leader.error().message;
}

struct BadJob {
  const char* message;
  Code code;
  std::function<void(InferJob&)> spoil;
};

class BadInferJob : public ::testing::TestWithParam<BadJob> {};

TEST_P(BadInferJob, IsRefusedWithItsKey) {
  InferJob job = small_job(10, 2);
  GetParam().spoil(job);
  const RoleWorld::Outcome outcome = infer(job, 2);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), GetParam().code) << outcome.leader.error().message;
  EXPECT_NE(outcome.leader.error().message.find(GetParam().message), std::string::npos)
      << outcome.leader.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadInferJob,
    ::testing::Values(
        BadJob{"stages", Code::invalid_argument, [](InferJob& job) { job.set_stages(-1); }},
        BadJob{"no operator 'flaten'; did you mean 'flatten'?", Code::invalid_argument,
               [](InferJob& job) {
                 job.set_stages(0);
                 job.add_cuts("flaten");
               }},
        BadJob{"'pool' begins no stage", Code::invalid_argument,
               [](InferJob& job) {
                 job.set_stages(0);
                 job.add_cuts("fc2");
                 job.add_cuts("pool");
               }},
        BadJob{"unknown encoding 'fp61'; did you mean 'fp16'?", Code::invalid_argument,
               [](InferJob& job) { job.set_activations("fp61"); }},
        BadJob{"2 cuts make 3 stages, not 2", Code::invalid_argument,
               [](InferJob& job) {
                 job.add_cuts("pool");
                 job.add_cuts("fc2");
               }},
        BadJob{"micro_batch", Code::invalid_argument, [](InferJob& job) { job.set_micro_batch(0); }},
        BadJob{"window", Code::invalid_argument, [](InferJob& job) { job.set_window(-1); }},
        BadJob{"window", Code::invalid_argument, [](InferJob& job) { job.set_window(2'147'483'647); }},
        BadJob{"stages", Code::invalid_argument, [](InferJob& job) { job.set_stages(2'147'483'647); }},
        BadJob{"answer_timeout", Code::invalid_argument, [](InferJob& job) { job.set_answer_timeout_s(1e300); }},
        BadJob{"deadline", Code::invalid_argument, [](InferJob& job) { job.set_deadline_s(1e300); }},
        BadJob{"limit", Code::invalid_argument, [](InferJob& job) { job.set_limit(-1); }},
        BadJob{"answer_timeout", Code::invalid_argument, [](InferJob& job) { job.set_answer_timeout_s(-1); }},
        BadJob{"'pipeline'", Code::not_found, [](InferJob& job) { job.set_strategy("pipelin"); }},
        BadJob{"'glyphs'", Code::not_found, [](InferJob& job) { job.set_data("glyph"); }},
        BadJob{"model", Code::data_loss, [](InferJob& job) { job.set_model("not onnx"); }}));

TEST(RunInference, NoNodesIsAnError) {
  const RoleWorld::Outcome outcome = infer(small_job(10, 1), 0);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
}

TEST(RunInference, StopsWhenAsked) {
  RoleWorld world(3);
  world.stop().request_stop();
  const RoleWorld::Outcome outcome = infer(small_job(30, 2), world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::cancelled);
}

}  // namespace
}  // namespace mangrove::infer
