#include "mangrove/train/compression/codec_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/base/hand_clock.h"
#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kFloatBytes = 1'000'000;

PlainExchange over(double bytes_per_s, Seconds step) {
  return {.step = step,
          .wire = 2 * kFloatBytes / bytes_per_s,
          .wire_bytes = 2 * kFloatBytes,
          .float_bytes = kFloatBytes,
          .workers = 4};
}

const std::vector<CodecTrial> kTrials = {{"half", kFloatBytes / 2, 0.001, 0.001},
                                         {"tiny", kFloatBytes / 100, 0.020, 0.002}};

TEST(ChooseCodec, SlowLinksGetSmallMessages) {
  const CodecChoice slow = choose_codec(kTrials, over(1e6, 3));
  EXPECT_EQ(slow.codec, "tiny");
  EXPECT_NEAR(slow.plain, 2, 1e-9);
  EXPECT_NEAR(slow.exchange, 0.02 + 2 * 0.020 + 7 * 0.002, 1e-9);
  EXPECT_NE(slow.why.find("1.00 MB/s"), std::string::npos) << slow.why;
  EXPECT_EQ(choose_codec(kTrials, over(5e7, 0.1)).codec, "half");
}

TEST(ChooseCodec, FloatsStayWhereOthersWouldNotSaveMuch) {
  const CodecChoice fast = choose_codec(kTrials, over(1e9, 0.1));
  EXPECT_EQ(fast.codec, "none");
  EXPECT_EQ(fast.exchange, fast.plain);
  EXPECT_NE(fast.why.find("half would take"), std::string::npos) << fast.why;
  EXPECT_EQ(choose_codec(kTrials, over(5e7, 10)).codec, "none") << "a fast exchange in a slow step";
  PlainExchange none = over(1e9, 0.1);
  none.wire = 0;
  EXPECT_EQ(choose_codec(kTrials, none).codec, "none");
  EXPECT_EQ(choose_codec({}, over(1, 3)).codec, "none");
}

constexpr std::size_t kChoiceElements = 10'000;

/// Where a worker's time goes: messages at a rate, and the rest, which may depend on the codec.
struct Place {
  double bytes_per_s;
  Seconds rest;
  std::string slow_codec = {};  // whose steps take three seconds longer
};

struct Course {
  std::vector<CodecChoice> choices;
  std::vector<std::string> codecs;  // of each step
};

/// Forty steps.
Course choose_in(const Place& place) {
  testing::HandClock clock;
  CodecChooser chooser(clock, {.layers = {{100, 100}}, .seed = 1}, 2);
  std::vector<float> update(kChoiceElements);
  Random random(1);
  for (float& value : update) value = static_cast<float>(random.normal());
  Course course;
  Seconds wire = 0;
  std::size_t bytes = 0;
  for (int step = 0; step < 40; ++step) {
    if (const auto choice = chooser.next(update, wire, bytes)) course.choices.push_back(*choice);
    const std::string& codec = course.codecs.emplace_back(chooser.codec());
    bytes = 2 * codec::make_codec(codec, {.layers = {{100, 100}}, .seed = 1}).value()->encode(update).size();
    wire = static_cast<double>(bytes) / place.bytes_per_s;
    clock.pass(place.rest + wire + (codec == place.slow_codec ? 3 : 0));
  }
  return course;
}

bool used(const Course& course, const std::string& codec) {
  return std::find(course.codecs.begin(), course.codecs.end(), codec) != course.codecs.end();
}

TEST(CodecChooser, FloatsAreNotEvenTriedOnASlowLink) {
  const Course course = choose_in({.bytes_per_s = 1e5, .rest = 0.1});
  ASSERT_EQ(course.choices.size(), 1u);
  EXPECT_EQ(course.choices[0].codec, "two_step(0.01)");
  EXPECT_NEAR(course.choices[0].bytes_per_s, 1e5, 1);
  EXPECT_NEAR(course.choices[0].plain, 0.8, 1e-3);
  EXPECT_FALSE(used(course, "none"));
  EXPECT_EQ(course.codecs.front(), CodecChooser::first());
  EXPECT_EQ(course.codecs.back(), "two_step(0.01)");
}

TEST(CodecChooser, FloatsAreTriedWhereTheyMayBeFast) {
  const Course fast = choose_in({.bytes_per_s = 1e9, .rest = 0.1});
  ASSERT_EQ(fast.choices.size(), 1u);
  EXPECT_EQ(fast.choices[0].codec, "none");
  EXPECT_EQ(fast.codecs.back(), "none");
  const Course middling = choose_in({.bytes_per_s = 1e6, .rest = 0.1});
  ASSERT_EQ(middling.choices.size(), 1u);
  EXPECT_TRUE(used(middling, "none"));
  EXPECT_EQ(middling.codecs.back(), "two_step(0.01)");
}

TEST(CodecChooser, GoesBackToWhatWasFastest) {
  const Course slow_link = choose_in({.bytes_per_s = 1e5, .rest = 0.1, .slow_codec = "two_step(0.01)"});
  ASSERT_EQ(slow_link.choices.size(), 2u);
  EXPECT_EQ(slow_link.choices[1].codec, CodecChooser::first());
  EXPECT_EQ(slow_link.codecs.back(), CodecChooser::first());
  EXPECT_NE(slow_link.choices[1].why.find("with two_step(0.01) a step took 3.1 s in place of 128 ms"),
            std::string::npos)
      << slow_link.choices[1].why;
  const Course fast_link = choose_in({.bytes_per_s = 1e9, .rest = 0.1, .slow_codec = "none"});
  EXPECT_EQ(fast_link.codecs.back(), CodecChooser::first());
}

/// Two epochs in virtual time, in which only messages take time.
RoleWorld::Outcome train_over(Seconds latency, TrainJob job) {
  job.set_codec("auto");
  RoleWorld world(4);
  world.use_virtual_time(latency);
  return train(job, world);
}

TEST(AutoCodec, EachWorkerTellsWhatItChoseAndWhy) {
  for (const char* strategy : {"parameter_server", "federated"}) {
    TrainJob job = small_job(24 * 16);
    job.set_strategy(strategy);
    job.set_local_steps(1);
    job.set_epochs(2);
    const RoleWorld::Outcome outcome = train_over(0.5, job);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    int chosen = 0;
    for (const Report& report : outcome.of_kind("event")) {
      const auto event = nlohmann::json::parse(report.json);
      if (event["event"] != "codec_chosen") continue;
      ++chosen;
      EXPECT_GT(event["bytes_per_s"], 0);
      EXPECT_NE(event["codec"], "none") << report.json;
      EXPECT_FALSE(event["why"].get<std::string>().empty());
    }
    EXPECT_EQ(chosen, 3) << strategy;
    const auto exchange = nlohmann::json::parse(outcome.result())["exchange"];
    EXPECT_GT(exchange["uplink"]["compression"], 2) << strategy;
    EXPECT_GT(exchange["downlink"]["compression"], 2) << strategy;
  }
}

TEST(AutoCodec, LearnsAsWellAsNone) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = small_job(1000);
  job.set_epochs(8);
  job.set_learning_rate(0.05f);
  const double plain = json_number(train(job, 3).result(), "accuracy");
  ASSERT_GT(plain, 0.7);
  const RoleWorld::Outcome outcome = train_over(0.5, job);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GT(json_number(outcome.result(), "accuracy"), plain - 0.06);
}

}  // namespace
}  // namespace mangrove::train
