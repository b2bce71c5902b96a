#include "mangrove/train/codec_choice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_NE(slow.why.find("1 MB/s"), std::string::npos) << slow.why;
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

/// It moves when it is told to.
class HandClock final : public Clock {
 public:
  Instant now() const override { return {seconds}; }
  void sleep_until(Instant) override { FAIL() << "nobody waits"; }
  double seconds = 0;
};

/// Updates until something was chosen twice, or nothing for long; each step takes so many seconds.
std::vector<CodecChoice> choices(Seconds plain_step, Seconds wire, Seconds coded_step) {
  HandClock clock;
  const std::size_t elements = 10'000;
  CodecChooser chooser(clock, {.layers = {{100, 100}}, .seed = 1}, 2);
  std::vector<float> update(elements);
  Random random(1);
  for (float& value : update) value = static_cast<float>(random.normal());
  std::vector<CodecChoice> found;
  for (int step = 0; step < 40; ++step) {
    const bool is_coded = !found.empty() && found.back().codec != "none";
    clock.seconds += is_coded ? coded_step : plain_step;
    if (const auto choice = chooser.next(update, wire, 8 * elements)) found.push_back(*choice);
  }
  return found;
}

TEST(CodecChooser, DecidesOnceAndStays) {
  const auto slow = choices(1.0, 0.9, 0.2);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].codec, "two_step(0.01)");
  const auto fast = choices(1.0, 1e-4, 0.2);
  ASSERT_EQ(fast.size(), 1u);
  EXPECT_EQ(fast[0].codec, "none");
}

TEST(CodecChooser, GoesBackWhereItIsSlowerThanItShouldBe) {
  const auto found = choices(1.0, 0.9, 1.05);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].codec, "none");
  EXPECT_EQ(found[1].codec, "none");
  EXPECT_NE(found[1].why.find("a step took 1.05e+03 ms in place of 1e+03 ms"), std::string::npos) << found[1].why;
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
    EXPECT_GT(exchange["push"]["compression"], 2) << strategy;
    EXPECT_GT(exchange["pull"]["compression"], 2) << strategy;
  }
}

TEST(AutoCodec, LearnsAsWellAsNone) {
  TrainJob job = small_job(1000);
  job.set_epochs(8);
  job.set_learning_rate(0.05f);
  const double plain = json_number(train(job, 3).result(), "accuracy");
  ASSERT_GT(plain, 0.7);
  const RoleWorld::Outcome outcome = train_over(0.5, job);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GT(json_number(outcome.result(), "accuracy"), plain - 0.06);
}

// Momentum at the workers is that of the server, as long as all updates go as they are.
TEST(AutoCodec, WithoutNeedOfACodecTrainsAsNoneDoes) {
  TrainJob job = small_job(24 * 5);
  const auto plain = trained_parameters(train(job, 3));
  EXPECT_LT(relative_difference(trained_parameters(train_over(0, job)), plain), 1e-5);
}

}  // namespace
}  // namespace mangrove::train
