// Inference in virtual time: the strategies answer as on real devices, in the seconds that the world says.
#include <gtest/gtest.h>

#include <set>

#include "tests/base/sanitizer.h"
#include "tests/sim/simulated_inference.h"

#include "mangrove/graph/multiply_adds.h"
#include "mangrove/infer/strategy.h"

namespace mangrove::sim {
namespace {

constexpr std::uint64_t kInferenceSeeds = kSanitized ? 19 : 200;  // of each case

class EveryInference : public ::testing::TestWithParam<InferenceCase> {};

std::string name_of(const ::testing::TestParamInfo<InferenceCase>& info) {
  return info.param.name;
}

TEST_P(EveryInference, AnswersAsOnOneDevice) {
  const SimulatedInference run = simulated(GetParam().job(), GetParam().world());
  ASSERT_TRUE(run.outcome.leader.ok()) << run.outcome.leader.error().message;
  GetParam().expect_right(run.outcome, "undisturbed");
  EXPECT_TRUE(run.lost().empty());
}

TEST_P(EveryInference, HappensTheSameWayTwice) {
  const SimulatedInference first = simulated(GetParam().job(), GetParam().world());
  EXPECT_GT(first.log.size(), 1000u);
  EXPECT_EQ(first.log, simulated(GetParam().job(), GetParam().world()).log);
}

TEST_P(EveryInference, UnderRandomFaultsAnswersEveryImageOnce) {
  const infer::InferJob job = GetParam().job();
  const World world = GetParam().world();
  const Seconds window = simulated(job, world).seconds;
  int done = 0, disturbed = 0;
  for (std::uint64_t seed = 1; seed <= kInferenceSeeds; ++seed) {
    const std::string where = "fault seed " + std::to_string(seed);
    const SimulatedInference run = simulated(job, world, draw_faults(world, seed, window));
    const std::vector<std::string> lost = run.lost();
    if (!run.outcome.leader.ok() && GetParam().is_hopeless(lost)) continue;
    ASSERT_TRUE(run.outcome.leader.ok()) << where << ": " << run.outcome.leader.error().message;
    ++done;
    disturbed += lost.empty() ? 0 : 1;
    GetParam().expect_right(run.outcome, where);
  }
  EXPECT_GE(done, static_cast<int>(kInferenceSeeds) * 10 / 19);
  EXPECT_GE(disturbed, static_cast<int>(kInferenceSeeds) * 5 / 19) << "of many, a node must be lost";
}

TEST(EveryInference, HasAJobOfEveryStrategy) {
  std::set<std::string> chosen;
  for (const InferenceCase& one : every_inference()) chosen.insert(one.job().strategy());
  for (const infer::Strategy& row : infer::strategies())
    EXPECT_TRUE(chosen.contains(std::string(row.name)))
        << row.name << ": it has several networks, so simulated_inference.cc must say of which a job of it consists";
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryInference, ::testing::ValuesIn(every_inference()), name_of);

double sample_flops() {
  return 2.0 * static_cast<double>(multiply_adds(small_graph(), 1));
}

TEST(VirtualInference, OfOneDeviceTakesWhatTheWorldSays) {
  infer::InferJob job = infer::small_job(40, 0);
  job.set_strategy("single");
  const SimulatedInference run = simulated(job, slow_boards(2));
  ASSERT_TRUE(run.outcome.leader.ok()) << run.outcome.leader.error().message;
  const double expected = 40 * sample_flops() / 1e6;
  EXPECT_NEAR(json_number(run.outcome.result(), "seconds"), expected, 0.02 * expected);
}

TEST(VirtualInference, IsAsFastAsItsPlanSays) {
  infer::InferJob job = infer::small_job(400, 3);
  World world = slow_boards(3);
  for (Device& device : world.devices) device.up = device.down = 12.5e6;
  world.devices[2].flops = 3e6;  // profiles are those of the virtual devices: this one gets more of the network
  const SimulatedInference run = simulated(job, world);
  ASSERT_TRUE(run.outcome.leader.ok()) << run.outcome.leader.error().message;
  const std::string result = run.outcome.result();
  const double predicted = json_number(result, "predicted_images_per_s");
  EXPECT_NEAR(json_number(result, "images_per_s"), predicted, 0.1 * predicted);
  const double fastest = 3e6 / sample_flops();
  EXPECT_NEAR(json_number(result, "single_images_per_s"), fastest, 0.02 * fastest);
}

}  // namespace
}  // namespace mangrove::sim
