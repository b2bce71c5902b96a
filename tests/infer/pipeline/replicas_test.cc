#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/base/sanitizer.h"
#include "tests/infer/inference_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/routes.h"
#include "mangrove/infer/pipeline/stream.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kReplicasSamples = 30;

StagePlan replicas_plan(const std::vector<std::vector<StagePlan::Replica>>& stages) {
  StagePlan plan;
  for (const auto& replicas : stages) plan.stages.push_back({{}, {}, replicas, 0});
  return plan;
}

TEST(Routes, ShareMicroBatchesByHowFastReplicasAre) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.4}, {2, 0.1}, {3, 0.2}}}));
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 7; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 1}, {2, 4}, {3, 2}}));
}

TEST(Routes, GiveToWhoIsDone) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}, {{3, 0.1}}}));
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
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}}));
  for (int i = 0; i < 50; ++i) routes.learn(0, 1, 0.3);
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 8; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 2}, {2, 6}}));
}

TEST(Routes, OneLongPauseDoesNotKeepAReplicaFromWork) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}}));
  routes.learn(0, 1, 100);
  std::map<net::Rank, int> given;
  for (std::uint64_t m = 0; m < 11; ++m) ++given[routes.choose(m).front()];
  EXPECT_EQ(given, (std::map<net::Rank, int>{{1, 5}, {2, 6}})) << "0.12 s beside 0.1 s";
}

TEST(Routes, CountAMicroBatchThatIsSentAgainOnce) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}}));
  for (int i = 0; i < 9; ++i) routes.choose(0);
  std::set<net::Rank> next = {routes.choose(1).front(), routes.choose(2).front()};
  routes.finish(0);
  next.insert(routes.choose(3).front());
  EXPECT_EQ(next.size(), 2u);
}

constexpr Seconds kTimeout = 10;

/// Sends four micro-batches in each timeout; `mute` never gives one back. Returns how many it has got when it is found
/// to be mute; nothing: it is not found.
std::optional<int> finds_mute(Routes& routes, net::Rank mute, int rounds) {
  int got = 0;
  for (int round = 0; round < rounds; ++round) {
    const Instant now{round * kTimeout};
    std::map<std::uint64_t, Routes::Route> sent;
    for (std::uint64_t id = 0; id < 4; ++id) sent[id] = routes.choose(id);
    for (const auto& [id, route] : sent) {
      if (std::ranges::count(route, mute) > 0) continue;
      for (std::size_t s = 0; s < route.size(); ++s) routes.came_back(s, route[s], now + 1);
      routes.finish(id);
    }
    for (const auto& [id, route] : sent) {
      if (std::ranges::count(route, mute) == 0) continue;
      routes.overdue(id, now + kTimeout, kTimeout);
      ++got;
    }
    if (const auto found = routes.mute()) {
      EXPECT_EQ(*found, mute);
      return got;
    }
  }
  return std::nullopt;
}

TEST(Routes, FindAMuteReplicaOfEitherStageAndBlameNobodyElse) {
  for (const net::Rank mute : {1, 2, 3, 4}) {
    Routes routes;
    routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}, {{3, 0.1}, {4, 0.1}}}));
    const auto got = finds_mute(routes, mute, 10);
    ASSERT_TRUE(got) << mute;
    EXPECT_GE(*got, Routes::kStrikes);
  }
}

TEST(Routes, BlameNobodyWhereAStageHasOneReplica) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}, {{3, 0.1}}}));
  EXPECT_FALSE(finds_mute(routes, 3, 20)) << "nothing comes back at all";
  routes.begin(replicas_plan({{{1, 0.1}}, {{2, 0.1}}}));
  EXPECT_FALSE(finds_mute(routes, 1, 20));
}

TEST(Routes, BlameOnlyTheWayThatHasNotAnswered) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}, {3, 0.1}}}));
  for (int round = 1; round <= Routes::kStrikes; ++round) {
    const std::uint64_t id = static_cast<std::uint64_t>(round);
    const Instant now{round * kTimeout};
    const Routes::Route first = routes.choose(id);
    if (first.front() != 2) routes.add(id, {2});
    if (first.front() != 1) routes.add(id, {1});
    if (first.front() == 3) routes.dropped(id, 3);
    routes.answered(id, {1}, now + 1);
    routes.overdue(id, now + kTimeout, kTimeout);
  }
  EXPECT_EQ(routes.mute(), 2);
  routes.answered(17, {2}, Instant{100});
  EXPECT_FALSE(routes.mute()) << "a late answer of an earlier way";
}

TEST(Routes, BlameNobodyForOneTimeoutHoweverManyAreOverdue) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}}));
  for (std::uint64_t m = 0; m < 20; ++m) routes.choose(m);
  for (std::uint64_t m = 0; m < 20; ++m) routes.overdue(m, Instant{10 + static_cast<double>(m) / 10}, kTimeout);
  routes.came_back(0, 1, Instant{13});
  EXPECT_FALSE(routes.mute());
}

TEST(Routes, ALateAnswerClearsAReplica) {
  Routes routes;
  routes.begin(replicas_plan({{{1, 0.1}, {2, 0.1}}}));
  for (int round = 1; round < 20; ++round) {
    const Instant now{round * kTimeout};
    for (const std::uint64_t m : {0, 1}) routes.choose(m);
    for (const std::uint64_t m : {0, 1}) routes.overdue(m, now, kTimeout);
    routes.came_back(0, 1, now + 1);
    if (round % 2 == 0) routes.came_back(0, 2, now + 2);
    EXPECT_FALSE(routes.mute()) << round;
  }
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

/// Changes what an answer says of the time of its stages.
void say(Seconds busy, net::Tag tag, std::string& payload) {
  FromNode message;
  if (tag != kFromNodeTag || !message.ParseFromString(payload) || !message.has_predictions()) return;
  for (double& seconds : *message.mutable_predictions()->mutable_trace()->mutable_seconds()) seconds = busy;
  payload = message.SerializeAsString();
}

/// Four nodes and this plan, without measuring anything first. busy: what nodes say that a stage took.
Streamed replicas_stream(RoleWorld& world, const InferJob& job, std::optional<Seconds> busy = std::nullopt) {
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
    world.replace(rank, [&](job::RoleContext& context) {
      WatchedEndpoint endpoint(context.endpoint);
      if (busy) endpoint.on_send = [&](net::Rank, net::Tag tag, std::string& payload) { say(*busy, tag, payload); };
      job::RoleContext own = with_endpoint(context, endpoint);
      return run_inference(job, own);
    });
  streamed.outcome = world.run(lead);
  return streamed;
}

TEST(Replicas, AllTakePartAndAnswerAsOneNodeDoes) {
  const InferJob job = small_job(kReplicasSamples, 2);
  RoleWorld world(5);
  const Streamed streamed = replicas_stream(world, job);
  ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
  EXPECT_EQ(streamed.answers.deliveries, std::vector<std::int32_t>(kReplicasSamples, 1));
  EXPECT_EQ(streamed.used, (std::set<net::Rank>{1, 2, 3, 4}));
}

/// Micro-batch 0 never gets to rank 1, which is idle again for 1: of equals the first one is chosen. Rank 3 was in the
/// same route, so both are suspect, and a route has one suspect at most.
TEST(Replicas, AMicroBatchWhoseDeadlinePassedIsNotWaitedFor) {
  InferJob job = small_job(8, 2);
  job.set_window(1);
  job.set_deadline_s(1);
  RoleWorld world(5);
  world.use_virtual_time();
  int commands = 0;
  world.world().set_loss(
      [&](net::Rank, net::Rank to, net::Tag tag) { return to == 1 && tag == kCommandTag && ++commands == 2; });
  const Streamed streamed = replicas_stream(world, job);
  ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
  EXPECT_EQ(streamed.answers.missed, 4);
  EXPECT_EQ(streamed.used, (std::set<net::Rank>{1, 4}));
}

/// One of the first stage, or of the last, takes micro-batches, and what it makes of them never gets anywhere.
TEST(Replicas, AMuteOneIsLeftOut) {
  constexpr std::int64_t kMany = 80;
  constexpr Seconds kBusy = 7;  // as the plan says: else the others would seem faster, and it would get no more
  InferJob job = small_job(kMany, 2);
  job.set_window(16);
  for (const net::Rank mute : {2, 4}) {
    RoleWorld world(5);
    world.use_virtual_time();
    bool is_fed = false;  // guarded by the world's lock
    world.world().set_loss([&](net::Rank from, net::Rank to, net::Tag tag) {
      is_fed = is_fed || (to == mute && tag == kActivationTag);
      return from == mute && (tag == kActivationTag || (is_fed && tag == kFromNodeTag));
    });
    const Streamed streamed = replicas_stream(world, job, kBusy);
    ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
    EXPECT_EQ(streamed.answers.deliveries, std::vector<std::int32_t>(kMany, 1)) << mute;
    EXPECT_TRUE(streamed.outcome.has_event(R"("event":"node_left_out","node":"rank-)" + std::to_string(mute)));
    EXPECT_EQ(streamed.outcome.of_kind("event").size(), 2u) << "it is left out, and the others are planned anew";
  }
}

TEST(Replicas, TheLossOfAnyLosesNoImage) {
  const InferJob job = small_job(kReplicasSamples, 2);
  RoleWorld undisturbed(5);
  const Answers expected = replicas_stream(undisturbed, job).answers;
  for (const net::Rank rank : {1, 2, 3, 4}) {
    for (int k = 1;; k += kMessageStride) {
      RoleWorld world(5);
      world.die({.rank = rank, .at_send = k});
      const Streamed streamed = replicas_stream(world, job);
      if (streamed.outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
      ASSERT_TRUE(streamed.outcome.leader.ok()) << streamed.outcome.leader.error().message;
      EXPECT_EQ(streamed.answers.deliveries, std::vector<std::int32_t>(kReplicasSamples, 1)) << rank << ' ' << k;
      EXPECT_EQ(streamed.answers.predictions, expected.predictions) << rank << ' ' << k;
    }
  }
}

}  // namespace
}  // namespace mangrove::infer
