#include "mangrove/train/pipeline/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/train/training_job.h"

#include "mangrove/train/pipeline/stage_profile.h"

namespace mangrove::train {
namespace {

/// The network's four operators take so long, a third of it forward, and so many bytes each.
StageDevice device(net::Rank rank, std::vector<double> seconds, Bytes room = 0, Bytes activations = 0) {
  StageDevice made{rank, {}};
  for (const double one : seconds) {
    made.profile.add_forward_s(one / 3);
    made.profile.add_backward_s(one * 2 / 3);
    made.profile.add_activations(activations);
  }
  made.profile.set_room(room);
  return made;
}

PipelineWish stages(std::size_t least, std::size_t most) {
  return {.micro_batch = 1, .devices = {.least = least, .most = most}};
}

std::vector<StageRange> ranges(const std::vector<PlannedStage>& planned) {
  std::vector<StageRange> made;
  for (const PlannedStage& stage : planned) made.push_back(stage.range);
  return made;
}

std::vector<net::Rank> ranks(const std::vector<PlannedStage>& planned) {
  std::vector<net::Rank> made;
  for (const PlannedStage& stage : planned)
    for (const PlannedStage::Replica& replica : stage.replicas) made.push_back(replica.rank);
  return made;
}

TEST(PipelinePlan, StagesCostAboutTheSame) {
  const std::vector<StageDevice> devices = {device(1, {1, 5, 1, 5}), device(2, {1, 5, 1, 5})};
  const auto planned = plan_pipeline(small_graph(), devices, stages(2, 2)).value();
  EXPECT_EQ(ranges(planned), (std::vector<StageRange>{{0, 2}, {2, 4}}));
  EXPECT_EQ(ranks(planned), (std::vector<net::Rank>{1, 2}));
}

TEST(PipelinePlan, ASlowerNodeHasLessToDo) {
  const std::vector<StageDevice> devices = {device(1, {4, 4, 4, 4}), device(2, {1, 1, 1, 1})};
  const auto planned = plan_pipeline(small_graph(), devices, stages(2, 2)).value();
  ASSERT_EQ(planned.size(), 2u);
  for (const PlannedStage& stage : planned)
    EXPECT_EQ(stage.range.last - stage.range.first, stage.replicas.front().rank == 1 ? 1u : 3u);
}

TEST(PipelinePlan, TheOrderOfTheNodesIsFree) {
  // the first operators take long on the first node, the last ones on the second
  const std::vector<StageDevice> devices = {device(1, {9, 9, 1, 1}), device(2, {1, 1, 9, 9})};
  const auto planned = plan_pipeline(small_graph(), devices, stages(2, 2)).value();
  EXPECT_EQ(ranks(planned), (std::vector<net::Rank>{2, 1}));
  EXPECT_EQ(ranges(planned), (std::vector<StageRange>{{0, 2}, {2, 4}}));
}

TEST(PipelinePlan, NodesThatDoNotHelpStayOut) {
  const std::vector<StageDevice> devices = {device(1, {1, 1, 1, 1}), device(2, {90, 90, 90, 90})};
  EXPECT_EQ(ranks(plan_pipeline(small_graph(), devices, stages(1, 2)).value()), (std::vector<net::Rank>{1}));
  EXPECT_EQ(plan_pipeline(small_graph(), devices, stages(2, 2))->size(), 2u);
}

TEST(PipelinePlan, SmallDifferencesAreNone) {
  const std::vector<StageDevice> devices = {device(1, {1, 1, 1.02, 1}), device(2, {1.01, 1, 1, 1}),
                                            device(3, {0.98, 1, 1, 1})};
  EXPECT_EQ(ranks(plan_pipeline(small_graph(), devices, stages(3, 3)).value()), (std::vector<net::Rank>{1, 2, 3}));
}

TEST(PipelinePlan, MessagesCostARationedNodeMore) {
  // 784 floats each way at the first cut, at 1 GB/s: 6.3 us; 16 at the others
  std::vector<StageDevice> devices = {device(1, {40e-6, 12e-6, 1e-6, 1e-6}), device(2, {40e-6, 12e-6, 1e-6, 1e-6})};
  EXPECT_EQ(plan_pipeline(small_graph(), devices, stages(2, 2))->front().range, (StageRange{0, 1}));
  for (StageDevice& one : devices) one.profile.set_slowdown(5);
  EXPECT_EQ(plan_pipeline(small_graph(), devices, stages(2, 2))->front().range, (StageRange{0, 2}));
}

TEST(PipelinePlan, ManyUnlikeNodesAreToldApartLessWell) {
  // 8 kinds of 4 can be chosen among in 390,625 ways; 30 nodes that all differ in more
  const auto planned_for = [](std::size_t count, const auto& seconds, const auto& room) {
    std::vector<StageDevice> devices;
    for (std::size_t i = 0; i < count; ++i)
      devices.push_back(device(static_cast<net::Rank>(i) + 1, std::vector<double>(4, seconds(i)), room(i)));
    return plan_pipeline(small_graph(), devices, stages(1, count));
  };
  const auto no_limit = [](std::size_t) { return Bytes{0}; };
  const auto kinds = planned_for(
      32, [](std::size_t i) { return std::pow(1.5, i / 4); }, no_limit);
  ASSERT_TRUE(kinds.ok()) << kinds.error().message;
  EXPECT_EQ(kinds->size(), 4u);
  for (const net::Rank rank : ranks(*kinds)) EXPECT_LE(rank, 16) << "one of the slower half";
  const auto unlike = planned_for(
      30, [](std::size_t i) { return std::pow(1.4, i); }, no_limit);
  ASSERT_TRUE(unlike.ok()) << unlike.error().message;
  const auto rooms = planned_for(
      400, [](std::size_t i) { return i % 2 == 0 ? 0.5 : 1.0; },
      [](std::size_t i) { return i % 3 == 0 ? Bytes{0} : Bytes{1} << (i % 40); });
  EXPECT_TRUE(rooms.ok()) << rooms.error().message;
}

TEST(PipelinePlan, KeepsToTheMemoryOfEachNode) {
  // 1F1B: the first of two stages holds two micro-batches
  constexpr Bytes kEach = 10'000'000;
  const auto planned_with = [&](Bytes first, Bytes second, Stage::Recompute recompute) {
    const std::vector<StageDevice> devices = {device(1, {1, 1, 1, 1}, first, kEach),
                                              device(2, {1, 1, 1, 1}, second, kEach)};
    PipelineWish wish = stages(2, 2);
    wish.recompute = recompute;
    return plan_pipeline(small_graph(), devices, wish).value();
  };
  const auto of = [](const std::vector<PlannedStage>& planned, net::Rank rank) {
    return std::ranges::find(planned, rank, [](const auto& stage) { return stage.replicas.front().rank; })->range;
  };
  // the first one has room for one operator as the last stage
  const auto never = planned_with(kEach * 3 / 2, kEach * 9, Stage::Recompute::never);
  EXPECT_EQ(of(never, 1), (StageRange{3, 4}));
  // enough for two operators of one micro-batch each, and their inputs
  const auto recomputed = planned_with(kEach * 5 / 2, kEach * 5 / 2, Stage::Recompute::where_needed);
  EXPECT_EQ(ranges(recomputed), (std::vector<StageRange>{{0, 2}, {2, 4}}));
  // not enough for anything: the stages will say so
  EXPECT_EQ(planned_with(1, 1, Stage::Recompute::where_needed).size(), 2u);
}

TEST(PipelinePlan, SlowStagesHaveReplicas) {
  // no cut helps against the second operator
  std::vector<StageDevice> devices;
  for (const net::Rank rank : {1, 2, 3}) devices.push_back(device(rank, {1, 9, 1, 1}, 0, 1'000'000));
  PipelineWish wish = stages(1, 3);
  EXPECT_EQ(plan_pipeline(small_graph(), devices, wish)->size(), 3u);
  wish.most_replicas = 2;
  const auto planned = plan_pipeline(small_graph(), devices, wish).value();
  ASSERT_EQ(planned.size(), 2u);
  EXPECT_EQ(planned[0].replicas.size() + planned[1].replicas.size(), 3u);
  for (const PlannedStage& stage : planned) {
    const bool has_the_slow_one = stage.range.first <= 1 && stage.range.last > 1;
    EXPECT_EQ(stage.replicas.size(), has_the_slow_one ? 2u : 1u);
  }
  wish.most_replicas = 0;
  EXPECT_EQ(plan_pipeline(small_graph(), devices, wish)->front().replicas.size(), 3u);
}

TEST(PipelinePlan, ASlowerReplicaIsExpectedToTakeLonger) {
  const std::vector<StageDevice> devices = {device(1, {2, 2, 2, 2}), device(2, {1, 1, 1, 1})};
  PipelineWish wish = stages(2, 2);
  wish.most_replicas = 0;
  const auto planned = plan_pipeline(small_graph(), devices, wish).value();
  ASSERT_EQ(planned.size(), 1u);
  ASSERT_EQ(planned[0].replicas.size(), 2u);
  EXPECT_NEAR(planned[0].replicas[0].seconds / planned[0].replicas[1].seconds, 2, 1e-6);
}

TEST(PipelinePlan, SaysWhatCannotBeCut) {
  const std::vector<StageDevice> devices(5, device(1, {1, 1, 1, 1}));
  EXPECT_EQ(plan_pipeline(small_graph(), devices, stages(5, 5)).code(), Code::invalid_argument);
}

TEST(StageProfile, HasWhatEveryOperatorTakes) {
  const Graph graph = convolutional_graph(10);
  const SteadyClock clock;
  std::vector<std::int64_t> told;
  const ProfileOptions options{.micro_batch = 2, .backend = "portable", .threads = 1, .parts = 3, .slowdown = 5};
  const auto profile =
      measure_stages(graph.without_weights(), options, clock, [&](std::int64_t parts) { told.push_back(parts); });
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_TRUE(is_profile_of(*profile, graph));
  EXPECT_EQ(profile->slowdown(), 5);
  EXPECT_GT(std::accumulate(profile->forward_s().begin(), profile->forward_s().end(), 0.0), 0);
  EXPECT_GT(std::accumulate(profile->backward_s().begin(), profile->backward_s().end(), 0.0), 0);
  EXPECT_GT(std::accumulate(profile->activations().begin(), profile->activations().end(), std::int64_t{}), 0);
  ASSERT_FALSE(told.empty());
  EXPECT_LE(told.back(), 3);
  EXPECT_FALSE(is_profile_of(*profile, small_graph()));
}

}  // namespace
}  // namespace mangrove::train
