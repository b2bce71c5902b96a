// Frames that a client pushes: each is answered once, in its order.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/infer/inference_job.h"

#include "mangrove/base/random.h"
#include "mangrove/data/image.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/pipeline/frame_samples.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::size_t kFrames = 30;

InferJob frames_job(int stages) {
  InferJob job = small_job(0, stages);
  job.clear_data();
  job.set_frames(true);
  return job;
}

/// Noise; every seventh one is no image, every eleventh could not be read.
std::vector<job::Frame> frames() {
  std::vector<job::Frame> all;
  Random random(1);
  for (std::size_t i = 0; i < kFrames; ++i) {
    job::Frame& frame = all.emplace_back();
    frame.name = "frame " + std::to_string(i);
    data::Image image{28, 28, 1, std::vector<std::uint8_t>(784)};
    for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(random.below(256));
    frame.image = i % 7 == 3 ? "no image" : data::encode_png(image);
    if (i % 11 == 5) frame = {.name = frame.name, .image = {}, .problem = "cannot be opened"};
  }
  return all;
}

/// What the unsplit network says of each; -1: there is no image.
std::vector<std::int32_t> expected_classes(const std::vector<job::Frame>& frames) {
  auto whole = CompiledStage::create(small_graph(), 0, kSmallOperators, {4, "portable", 1});
  std::vector<std::int32_t> classes;
  for (const job::Frame& frame : frames) {
    const auto image =
        data::decode_image({reinterpret_cast<const std::uint8_t*>(frame.image.data()), frame.image.size()});
    if (!image.ok()) {
      classes.push_back(-1);
      continue;
    }
    data::to_planar(*image, (*whole)->input(1));
    classes.push_back(learn::argmax_rows((*whole)->run(1), 10).front());
  }
  return classes;
}

/// Runs the job in the world while a thread pushes these frames.
RoleWorld::Outcome push(const InferJob& job, RoleWorld& world, const std::vector<job::Frame>& frames) {
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  std::jthread pusher([&] {
    for (const job::Frame& frame : frames)
      if (!queue.push(frame)) return;
    queue.end();
  });
  RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) {
    job::RoleContext own = context;
    if (context.endpoint.rank() == 0) own.frames = &queue;
    return run_inference(job, own);
  });
  queue.close();
  return outcome;
}

std::vector<json> frame_answers(const RoleWorld::Outcome& outcome) {
  std::vector<json> answers;
  for (const Report& report : outcome.of_kind("answers")) {
    const json body = json::parse(report.json);
    for (const json& answer : body["answers"]) answers.push_back(answer);
  }
  return answers;
}

void expect_all_answered(const RoleWorld::Outcome& outcome, const std::string& where) {
  ASSERT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  static const std::vector<job::Frame> all = frames();
  static const std::vector<std::int32_t> classes = expected_classes(all);
  const std::vector<json> answers = frame_answers(outcome);
  ASSERT_EQ(answers.size(), kFrames) << where;
  std::size_t unreadable = 0;
  for (std::size_t i = 0; i < kFrames; ++i) {
    EXPECT_EQ(answers[i]["frame"], i) << where;
    EXPECT_EQ(answers[i]["name"], all[i].name) << where;
    if (classes[i] < 0) {
      ++unreadable;
      EXPECT_TRUE(answers[i].contains("error")) << where << ": " << answers[i];
      continue;
    }
    EXPECT_EQ(answers[i]["class"], classes[i]) << where << ": " << answers[i];
    EXPECT_EQ(answers[i]["label"], std::to_string(classes[i]));
    EXPECT_GT(answers[i]["confidence"], 0.1);
    EXPECT_LE(answers[i]["confidence"], 1.0);
    EXPECT_GE(answers[i]["latency_s"], 0);
  }
  EXPECT_EQ(json_number(outcome.result(), "images"), kFrames) << where;
  EXPECT_EQ(json_number(outcome.result(), "unreadable"), unreadable) << where;
  EXPECT_EQ(json_number(outcome.result(), "missed"), 0) << where;
}

TEST(Frames, AreAnsweredInTheirOrder) {
  for (const int nodes : {1, 3}) {
    RoleWorld world(nodes + 1);
    expect_all_answered(push(frames_job(nodes), world, frames()), std::to_string(nodes) + " nodes");
  }
}

TEST(Frames, GoThroughTilesAsThroughStages) {
  InferJob job = frames_job(0);
  job.set_strategy("tiles");
  job.set_tiling("even_grid");
  RoleWorld world(4);
  expect_all_answered(push(job, world, frames()), "tiles");
  for (const int k : {5, 8, 11}) {
    RoleWorld dying(4);
    dying.die({.rank = 2, .at_send = k});
    expect_all_answered(push(job, dying, frames()), "rank 2, message " + std::to_string(k));
  }
}

// As a gateway needs them, which has prepared the samples and answers with all scores.
TEST(Frames, OfValuesAreAnsweredWithTheScoresOfTheWholeNetwork) {
  InferJob job = frames_job(2);
  job.set_frame_values(true);
  auto whole = CompiledStage::create(small_graph(), 0, kSmallOperators, {4, "portable", 1});
  Random random(3);
  std::vector<job::Frame> all;
  std::vector<float> expected;
  for (std::size_t i = 0; i < kFrames; ++i) {
    const std::span<float> input = (*whole)->input(1);
    for (float& value : input) value = static_cast<float>(random.normal());
    job::Frame& frame = all.emplace_back();
    frame.name = std::to_string(i);
    frame.image.assign(reinterpret_cast<const char*>(input.data()), input.size_bytes());
    if (i == 7) frame.image.pop_back();
    if (i == 7) continue;
    const std::span<const float> scores = (*whole)->run(1);
    expected.insert(expected.end(), scores.begin(), scores.end());
  }
  RoleWorld world(3);
  const RoleWorld::Outcome outcome = push(job, world, all);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::vector<json> answers = frame_answers(outcome);
  ASSERT_EQ(answers.size(), kFrames);
  EXPECT_EQ(answers[7]["error"], "3135 bytes of values, where a sample has 3136");
  std::string scores;
  for (const Report& report : outcome.of_kind("answers")) scores += report.attachment;
  ASSERT_EQ(scores.size(), expected.size() * sizeof(float));
  std::vector<float> got(expected.size());
  std::memcpy(got.data(), scores.data(), scores.size());
  EXPECT_EQ(got, expected) << "bit for bit";
}

TEST(Frames, SurviveTheLossOfAStage) {
  for (const net::Rank rank : {1, 2, 3}) {
    for (const int k : {5, 7, 9, 11}) {
      RoleWorld world(4);
      world.die({.rank = rank, .at_send = k});
      expect_all_answered(push(frames_job(2), world, frames()),
                          "rank " + std::to_string(rank) + ", message " + std::to_string(k));
    }
  }
}

TEST(Frames, SurviveTheLossOfAnyMessageOfTheStream) {
  InferJob job = frames_job(2);
  job.set_answer_timeout_s(0.2);
  for (int k = 6; k < 22; k += 3) {
    RoleWorld world(3);
    int sent = 0;
    world.world().set_loss([&](net::Rank from, net::Rank, net::Tag tag) {
      return tag != kProbeTag && tag != kFrameTag && from != 0 && sent++ == k;
    });
    expect_all_answered(push(job, world, frames()), "message " + std::to_string(k));
  }
}

TEST(Frames, AreAnsweredWhileTheNextOneIsNotThereYet) {
  RoleWorld world(3);
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  const std::vector<job::Frame> all = frames();
  std::size_t next = 0;
  const auto push_one = [&] { next < all.size() ? static_cast<void>(queue.push(all[next++])) : queue.end(); };
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::answers) push_one();
  });
  push_one();
  expect_all_answered(world.run([&](job::RoleContext& context) {
    job::RoleContext own = context;
    if (context.endpoint.rank() == 0) own.frames = &queue;
    return run_inference(frames_job(2), own);
  }),
                      "one at a time");
}

TEST(Frames, WithoutAnyThereIsAResultToo) {
  RoleWorld world(3);
  const RoleWorld::Outcome outcome = push(frames_job(2), world, {});
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(json_number(outcome.result(), "images"), 0);
}

TEST(Frames, CannotBeCheckedOnAStageThatOneNodeHas) {
  InferJob job = frames_job(3);
  job.set_trust("spot_checks=0.02");
  RoleWorld world(4);
  const RoleWorld::Outcome outcome = push(job, world, frames());
  EXPECT_EQ(outcome.leader.code(), Code::failed_precondition);
  const std::string message = outcome.leader.ok() ? "" : outcome.leader.error().message;
  EXPECT_NE(message.find("has stage 1, and no answers are known"), std::string::npos) << message;
}

TEST(Frames, GoThroughAPipelineOnly) {
  InferJob job = frames_job(0);
  job.set_strategy("single");
  RoleWorld world(2);
  const RoleWorld::Outcome outcome = push(job, world, frames());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
}

TEST(Deadline, ThatHasPassedIsToldOfEachFrameOnce) {
  InferJob job = frames_job(2);
  job.set_deadline_s(1e-9);
  RoleWorld world(3);
  const RoleWorld::Outcome outcome = push(job, world, frames());
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::vector<json> answers = frame_answers(outcome);
  ASSERT_EQ(answers.size(), kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) {
    EXPECT_EQ(answers[i]["frame"], i);
    EXPECT_TRUE(answers[i].contains("missed") || answers[i].contains("error")) << answers[i];
  }
  EXPECT_EQ(json_number(outcome.result(), "images"), kFrames);
  EXPECT_EQ(json_number(outcome.result(), "missed") + json_number(outcome.result(), "unreadable"), kFrames);
}

TEST(Deadline, OfSamplesIsCountedAndNothingIsComputedForThem) {
  InferJob job = small_job(30, 3);
  job.set_deadline_s(1e-9);
  const RoleWorld::Outcome outcome = infer(job, 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const std::string result = outcome.result();
  EXPECT_EQ(json_number(result, "missed"), 30);
  EXPECT_EQ(json_number(result, "lost"), 0);
  EXPECT_EQ(json_number(result, "duplicated"), 0);
  const json parsed = json::parse(result);
  for (const json& stage : parsed["stages"]) EXPECT_EQ(stage["seconds"], 0) << "dropped before";
  job.set_deadline_s(1000);
  const RoleWorld::Outcome in_time = infer(job, 3);
  expect_exact(in_time, 30, "in time");
  EXPECT_EQ(json_number(in_time.result(), "missed"), 0);
}

TEST(Deadline, OfALostMicroBatchIsOverWhenItIsSentAgain) {
  InferJob job = small_job(30, 2);
  job.set_answer_timeout_s(0.2);
  job.set_deadline_s(0.1);
  RoleWorld world(3);
  int sent = 0;
  world.world().set_loss([&](net::Rank, net::Rank, net::Tag tag) { return tag == kActivationTag && sent++ == 1; });
  const RoleWorld::Outcome outcome = infer(job, world);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GE(json_number(outcome.result(), "missed"), 2);  // a micro-batch; a slow machine may miss others
  EXPECT_EQ(json_number(outcome.result(), "lost"), 0);
  EXPECT_EQ(json_number(outcome.result(), "duplicated"), 0);
}

TEST(FrameQueue, MakesWhoIsFasterWait) {
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  std::atomic<int> pushed = 0, popped = 0, most = 0;
  queue.set_listener([&] { most = std::max(most.load(), ++pushed - popped.load()); });
  std::jthread pusher([&] {
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(queue.push({.name = {}, .image = "x", .problem = {}}));
  });
  for (int got = 0; got < 500;) {
    ++popped;  // before it: room is there when it is counted
    if (queue.pop()) {
      ++got;
    } else {
      --popped;
      std::this_thread::yield();
    }
  }
  pusher.join();
  EXPECT_LE(most, static_cast<int>(job::FrameQueue::kMostFrames));
  queue.close();
  EXPECT_FALSE(queue.push({}));
}

TEST(FrameQueue, OneThatIsClosedLetsGoOfWhoWaits) {
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  std::atomic<bool> is_full = false;
  std::jthread pusher([&] {
    std::size_t taken = 0;
    while (queue.push({.name = {}, .image = "x", .problem = {}}))
      if (++taken == job::FrameQueue::kMostFrames) is_full = true;
    EXPECT_EQ(taken, job::FrameQueue::kMostFrames);
  });
  while (!is_full) std::this_thread::yield();
  queue.close();
}

TEST(FrameSamples, RefusesANetworkThatTakesNoImages) {
  GraphParts parts = small_graph().parts();
  parts.inputs = {{"input", {DType::f32, {kBatch, 144}}}};
  parts.nodes.erase(parts.nodes.begin(), parts.nodes.begin() + 4);
  parts.nodes.front().inputs[0] = "input";
  for (const char* name : {"wc", "bc"}) parts.initializers.erase(name);
  const Result<Graph> graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(FrameSamples::create(*graph, FrameSamples::Kind::images).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::infer
