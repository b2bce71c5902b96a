#include <gtest/gtest.h>

#include <set>

#include "tests/base/sanitizer.h"
#include "tests/infer/inference_job.h"

#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/routes.h"
#include "mangrove/infer/pipeline/stream.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kSamples = 30;

StagePlan plan_of(const std::vector<std::vector<StagePlan::Replica>>& stages) {
  StagePlan plan;
  for (const auto& replicas : stages) plan.stages.push_back({{}, {}, replicas, 0});
  return plan;
}

TEST(Routes, ShareMicroBatchesByHowFastReplicasAre) {
  Routes routes;
  routes.begin(plan_of({{{1, 0.4}, {2, 0.1}, {3, 0.2}}}));
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 7; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 1}, {2, 4}, {3, 2}}));
}

TEST(Routes, GiveToWhoIsDone) {
  Routes routes;
  routes.begin(plan_of({{{1, 0.1}, {2, 0.1}}, {{3, 0.1}}}));
  const Routes::Route first = routes.choose(0), second = routes.choose(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.back(), 3);
  routes.finish(1);
  routes.finish(1);  // once is enough
  EXPECT_EQ(routes.choose(2), second);
  routes.finish(17);  // never sent
}

TEST(Routes, LearnHowFastReplicasAre) {
  Routes routes;
  routes.begin(plan_of({{{1, 0.1}, {2, 0.1}}}));
  for (int i = 0; i < 50; ++i) routes.learn(0, 1, 0.3);
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 8; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 2}, {2, 6}}));
}

TEST(Routes, OneLongPauseDoesNotKeepAReplicaFromWork) {
  Routes routes;
  routes.begin(plan_of({{{1, 0.1}, {2, 0.1}}}));
  routes.learn(0, 1, 100);
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 11; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 5}, {2, 6}})) << "0.12 s beside 0.1 s";
}

TEST(Routes, CountAMicroBatchThatIsSentAgainOnce) {
  Routes routes;
  routes.begin(plan_of({{{1, 0.1}, {2, 0.1}}}));
  for (int i = 0; i < 9; ++i) routes.choose(0);
  std::set<net::Rank> next = {routes.choose(1).front(), routes.choose(2).front()};
  routes.finish(0);
  next.insert(routes.choose(3).front());
  EXPECT_EQ(next.size(), 2u);
}

/// small_graph in two stages with two nodes each, that are said to be equally fast.
StagePlan two_by_two(const Graph& graph, const InferJob& job) {
  std::vector<DeviceProfile> devices;
  for (const net::Rank rank : {1, 3})
    devices.push_back(
        {.rank = rank, .name = "", .host = "host", .cores = 4, .operator_seconds = {4, 1, 1, 1, 3, 1, 3}});
  Result<StagePlan> plan = plan_stages(graph, devices, job);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  for (StagePlan::Stage& stage : plan->stages)
    stage.replicas.push_back({stage.replicas.front().rank + 1, stage.replicas.front().busy});
  return *plan;
}

struct Streamed {
  RoleWorld::Outcome outcome;
  Answers answers;
  std::set<net::Rank> used;  // where no node was lost, in either stage
};

/// Four nodes and this plan, without measuring anything first.
Streamed stream(RoleWorld& world, const InferJob& job) {
  Streamed streamed;
  const auto lead = [&](job::RoleContext& context) {
    return lead_nodes(job, context, [&](NodeRoster& nodes, Reports& reports) -> Status {
      const Graph graph = small_graph();
      MG_TRY(const Hello data, nodes.gather());
      const StagePlan plan = two_by_two(graph, job);
      Replanner revision(graph, {{.rank = 1, .name = "", .host = "host", .operator_seconds = {4, 1, 1, 1, 3, 1, 3}}},
                         job);
      DatasetWork work(job, data, 6, reports);
      MG_TRY(const StreamResult result, stream_through(job, context, nodes, reports, work, plan, revision));
      streamed.answers = work.answers();
      for (const auto& [holder, record] : result.records)
        if (record.micro_batches > 0) streamed.used.insert(holder.second);
      return {};
    });
  };
  for (net::Rank rank = 1; rank <= 4; ++rank)
    world.replace(rank, [&](job::RoleContext& context) { return run_inference(job, context); });
  streamed.outcome = world.run(lead);
  return streamed;
}

TEST(Replicas, AllTakePartAndAnswerAsOneNodeDoes) {
  const InferJob job = small_job(kSamples, 2);
  RoleWorld world(5);
  const Streamed streamed = stream(world, job);
  ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
  EXPECT_EQ(streamed.answers.deliveries, std::vector<std::int32_t>(kSamples, 1));
  EXPECT_EQ(streamed.used, (std::set<net::Rank>{1, 2, 3, 4}));
}

/// Micro-batch 0 never gets to rank 1, which is idle again for 1: of equals the first one is chosen.
TEST(Replicas, AMicroBatchWhoseDeadlinePassedIsNotWaitedFor) {
  InferJob job = small_job(8, 2);
  job.set_window(1);
  job.set_deadline_s(1);
  RoleWorld world(5);
  world.use_virtual_time();
  int commands = 0;
  world.world().set_loss(
      [&](net::Rank, net::Rank to, net::Tag tag) { return to == 1 && tag == kCommandTag && ++commands == 2; });
  const Streamed streamed = stream(world, job);
  ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
  EXPECT_EQ(streamed.answers.missed, 4);
  EXPECT_EQ(streamed.used, (std::set<net::Rank>{1, 3}));
}

TEST(Replicas, TheLossOfAnyLosesNoImage) {
  const InferJob job = small_job(kSamples, 2);
  RoleWorld undisturbed(5);
  const Answers expected = stream(undisturbed, job).answers;
  for (const net::Rank rank : {1, 2, 3, 4}) {
    for (int k = 1;; k += kMessageStride) {
      RoleWorld world(5);
      world.die({.rank = rank, .at_send = k});
      const Streamed streamed = stream(world, job);
      if (streamed.outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
      ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
      EXPECT_EQ(streamed.answers.deliveries, std::vector<std::int32_t>(kSamples, 1)) << rank << ' ' << k;
      EXPECT_EQ(streamed.answers.predictions, expected.predictions) << rank << ' ' << k;
    }
  }
}

}  // namespace
}  // namespace mangrove::infer
