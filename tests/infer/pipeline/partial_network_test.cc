// Networks that fit on no single node: each holds the weights of its own stages only.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/infer/inference_job.h"
#include "tests/job/still_device.h"

#include "mangrove/base/random.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kPartialSamples = 22, kPixels = 784;  // the last micro-batch is not full

/// A board of this memory, which computes for real.
class SmallBoard final : public job::StillDevice {
 public:
  explicit SmallBoard(Bytes memory) : memory_(memory) {}
  Bytes memory() const override { return memory_; }
  bool is_simulated() const override { return false; }

 private:
  const Bytes memory_;
};

/// 1.9 MB of weights, of which no layer has more than 0.64.
Graph large_network() {
  return zoo::build_model("mlp-200-400-400-200", {.sample_shape = Shape{1, 28, 28}, .classes = 10}).value();
}

InferJob partial_job(int stages) {
  InferJob job = small_job(kPartialSamples, stages);
  MG_CHECK(set_network(large_network(), job).ok());
  return job;
}

/// Nodes of these memories, from rank 1 on. 0: not limited.
class SmallBoards {
 public:
  explicit SmallBoards(const std::vector<Bytes>& memories) : world_(static_cast<int>(memories.size()) + 1) {
    for (const Bytes memory : memories) boards_.emplace_back(std::make_unique<SmallBoard>(memory));
  }

  RoleWorld& world() { return world_; }
  RoleWorld::Outcome infer(const InferJob& job, job::FrameQueue* frames = nullptr) {
    const InferJob of_nodes = without_networks(job);
    return world_.run([&](job::RoleContext& context) {
      const net::Rank rank = context.endpoint.rank();
      job::Device& device = rank == 0 ? context.device : *boards_.at(static_cast<std::size_t>(rank) - 1);
      job::RoleContext own{context.endpoint, context.clock, device,        context.data_folder,
                           context.threads,  context.stop,  context.report};
      if (rank == 0) own.frames = frames;
      return run_inference(rank == 0 ? job : of_nodes, own);
    });
  }

 private:
  RoleWorld world_;
  std::vector<std::unique_ptr<SmallBoard>> boards_;
};

json result_of(const RoleWorld::Outcome& outcome) {
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  return outcome.leader.ok() ? json::parse(outcome.result()) : json::object();
}

std::size_t nodes_with_stages(const json& result) {
  std::map<std::string, int> nodes;
  for (const json& stage : result["stages"]) ++nodes[stage["node"]];
  return nodes.size();
}

TEST(PartialNetwork, OneThatFitsNoBoardIsClassifiedBySeveral) {
  const json whole = result_of(SmallBoards({0}).infer(partial_job(1)));
  EXPECT_EQ(whole["agreement"], 1);
  const json result = result_of(SmallBoards({2'000'000, 2'000'000, 2'000'000}).infer(partial_job(0)));
  EXPECT_EQ(result["images"], kPartialSamples);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
  EXPECT_EQ(result["accuracy"], whole["accuracy"]);
  EXPECT_FALSE(result.contains("agreement")) << "there is nothing to compare with";
  EXPECT_FALSE(result.contains("single_images_per_s"));
  EXPECT_GE(nodes_with_stages(result), 2u);
  for (const json& stage : result["stages"]) EXPECT_LT(stage["predicted_rss_bytes"], 2'000'000) << stage;
}

TEST(PartialNetwork, NoBoardIsSentMoreThanTheWeightsOfItsStages) {
  const json result = result_of(SmallBoards({2'000'000, 2'000'000, 2'000'000}).infer(partial_job(2)));
  Bytes weights = 0;
  const Graph network = large_network();
  for (const std::string& name : network.parameters()) weights += network.initializers().at(name).bytes();
  EXPECT_GT(result["model_bytes"], weights / 2);
  EXPECT_LE(result["model_bytes"], weights);
}

TEST(PartialNetwork, ALargeBoardAmongSmallOnesGivesTheBaseline) {
  const json result = result_of(SmallBoards({2'000'000, 0, 2'000'000}).infer(partial_job(3)));
  EXPECT_EQ(result["agreement"], 1);
  EXPECT_EQ(result["lost"], 0);
  InferJob without = partial_job(3);
  without.set_baseline("off");
  const json alone = result_of(SmallBoards({2'000'000, 0, 2'000'000}).infer(without));
  EXPECT_FALSE(alone.contains("agreement"));
  EXPECT_EQ(alone["accuracy"], result["accuracy"]);
}

TEST(PartialNetwork, ScoresAreThoseOfOneProcessBitForBit) {
  Random random(7);
  std::vector<float> samples(static_cast<std::size_t>(kPartialSamples * kPixels));
  for (float& value : samples) value = static_cast<float>(random.normal());
  auto whole = CompiledStage::create(large_network(), 0, large_network().nodes().size(), {4, "portable", 1}).value();
  std::vector<float> expected;
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  for (std::int64_t i = 0; i < kPartialSamples; ++i) {
    const auto sample = std::span(samples).subspan(static_cast<std::size_t>(i * kPixels), kPixels);
    std::ranges::copy(sample, whole->input(1).begin());
    const std::span<const float> scores = whole->run(1);
    expected.insert(expected.end(), scores.begin(), scores.end());
    const std::string values(reinterpret_cast<const char*>(sample.data()), sample.size_bytes());
    ASSERT_TRUE(queue.push({.name = std::to_string(i), .image = values, .problem = {}}));
  }
  queue.end();
  InferJob job = partial_job(2);
  job.clear_data();
  job.set_frames(true);
  job.set_frame_values(true);
  const RoleWorld::Outcome outcome = SmallBoards({2'000'000, 2'000'000}).infer(job, &queue);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  std::string scores;
  for (const Report& report : outcome.of_kind("answers")) scores += report.attachment;
  ASSERT_EQ(scores.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(scores.data(), expected.data(), scores.size()), 0);
}

TEST(PartialNetwork, WhatDoesNotFitAtAllIsRefusedWithTheMemoryThatWouldBeEnough) {
  const RoleWorld::Outcome outcome = SmallBoards({1'200'000, 1'200'000}).infer(partial_job(0));
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::resource_exhausted);
  EXPECT_NE(outcome.leader.error().message.find("on each device"), std::string::npos) << outcome.leader.error().message;
}

TEST(PartialNetwork, SpotChecksNeedTheWholeNetworkOnEachBoard) {
  InferJob job = partial_job(0);
  job.set_trust("spot_checks=0.5");
  const RoleWorld::Outcome outcome = SmallBoards({2'000'000, 2'000'000, 2'000'000}).infer(job);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_NE(outcome.leader.error().message.find("trust: "), std::string::npos) << outcome.leader.error().message;
}

TEST(PartialNetwork, TheStageOfALostBoardIsFetchedBySpareOnes) {
  SmallBoards boards({2'000'000, 2'000'000, 2'000'000});
  bool has_died = false;
  boards.world().on_report([&](const Report& report) {
    if (has_died || report.kind != ReportKind::progress) return;
    has_died = true;
    boards.world().world().kill(2);
  });
  InferJob job = partial_job(2);
  job.set_micro_batch(1);
  const json result = result_of(boards.infer(job));
  EXPECT_TRUE(has_died);
  EXPECT_EQ(result["images"], kPartialSamples);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
}

}  // namespace
}  // namespace mangrove::infer
