#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/cluster/fake_node.h"
#include "tests/cluster/test_cluster.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;

json result_of(RunningJob& job) {
  const std::vector<Report> results = job.reports("result");
  EXPECT_EQ(results.size(), 1u);
  return results.empty() ? json() : json::parse(results.front().json);
}

TEST(JobSpec, RunsOnAllNodesAndAccountsForThem) {
  const TestCluster cluster(3);
  RunningJob job(cluster, scripted_job("echo"));
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 3);
  EXPECT_EQ(job.reports("result").front().attachment, "model");
  EXPECT_EQ(result["events"], json::array());
  ASSERT_EQ(result["nodes"].size(), 3u);
  for (const json& node : result["nodes"]) {
    EXPECT_EQ(node["state"], "alive");
    EXPECT_GE(node["sent_bytes"], 1000);
    EXPECT_GE(node["received_bytes"], 1000);
    EXPECT_GT(node["rss_bytes"], 0);
  }
  EXPECT_EQ(result["nodes"][0]["name"], "node-1");
  EXPECT_TRUE(job.has("nodes"));
}

TEST(JobSpec, CountsOnlyItsOwnBytes) {
  const TestCluster cluster(1);
  for (int i = 0; i < 3; ++i) {
    RunningJob job(cluster, scripted_job("echo"));
    ASSERT_TRUE(job.wait().ok());
    const json node = result_of(job)["nodes"][0];
    EXPECT_GE(node["sent_bytes"], 1000) << "job " << i;
    EXPECT_LT(node["sent_bytes"], 3000) << "job " << i;
    EXPECT_GE(node["received_bytes"], 2000) << "job " << i;
    EXPECT_LT(node["received_bytes"], 3000) << "job " << i;
  }
}

TEST(JobSpec, TakesNoMoreNodesThanItAskedFor) {
  const TestCluster cluster(3);
  RunningJob job(cluster, scripted_job("echo", 2));
  ASSERT_TRUE(job.wait().ok());
  EXPECT_EQ(result_of(job)["answers"], 2);
}

TEST(JobSpec, NeedsANode) {
  const TestCluster cluster;
  RunningJob job(cluster, scripted_job("echo", 0, 0.2));
  const Status status = job.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_EQ(status.error().message, "no nodes have joined within 200 ms");
}

TEST(JobSpec, WaitsForItsFirstNode) {
  TestCluster cluster;
  RunningJob job(cluster, scripted_job("echo", 0, 60));
  ASSERT_TRUE(eventually([&] { return !cluster.last_job().empty(); }));
  cluster.add_node("first");
  ASSERT_TRUE(job.wait().ok());
  EXPECT_EQ(result_of(job)["answers"], 1);
}

TEST(JobSpec, SaysHowManyNodesItWaitedFor) {
  const TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("echo", 4, 0.2));
  const Status status = job.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::deadline_exceeded);
  EXPECT_EQ(status.error().message, "4 nodes asked for, 2 joined within 200 ms");
}

TEST(JobSpec, RefusesNumbersThatMakeNoSense) {
  const TestCluster cluster(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const JobSpec& odd : {scripted_job("echo", -1), scripted_job("echo", 2, -1), scripted_job("echo", 2, nan),
                             scripted_job("echo", 2, std::numeric_limits<double>::infinity()),
                             scripted_job("echo", 2, 1e300), scripted_job("echo", 2'147'483'647)}) {
    RunningJob job(cluster, odd);
    EXPECT_EQ(job.wait().code(), Code::invalid_argument) << odd.ShortDebugString();
  }
}

TEST(JobSpec, WaitsForANodeThatComesLate) {
  TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("echo", 2, 20));
  cluster.add_node("late");
  ASSERT_TRUE(job.wait().ok());
  EXPECT_EQ(result_of(job)["answers"], 2);
}

TEST(JobSpec, CanBeStoppedWhileItWaitsForNodes) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("echo", 2, 1000));
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
}

TEST(JobSpec, StopsInGoodOrderWithACheckpoint) {
  const TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
  ASSERT_TRUE(job.has("checkpoint"));
  EXPECT_EQ(job.reports("checkpoint").front().attachment.size(), 100'000u);
  EXPECT_FALSE(job.has("result"));
}

TEST(JobSpec, GoesOnWhenOneWhoOnlyFollowsItHangsUp) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  FromClient first;
  first.mutable_follow()->set_job_id(cluster.last_job());
  EXPECT_EQ(open_run_job(cluster.coordinator->address(), first, 0.3).code(), Code::deadline_exceeded);
  const std::size_t before = job.reports("progress").size();
  EXPECT_TRUE(eventually([&] { return job.reports("progress").size() > before + 50; }));
  EXPECT_FALSE(job.has("checkpoint")) << "the last word of a job that was stopped";
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
}

TEST(JobSpec, GoesOnWhenOneWhoFollowsItDetaches) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  const std::string id = cluster.last_job();
  std::stop_source detach;
  const Status status = cluster.client()->follow(
      id, [&](const Report&) { detach.request_stop(); }, detach.get_token());
  EXPECT_EQ(status.code(), Code::cancelled);
  const std::size_t before = job.reports("progress").size();
  EXPECT_TRUE(eventually([&] { return job.reports("progress").size() > before + 10; }));
  EXPECT_FALSE(job.has("checkpoint")) << "nobody has stopped it";
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
}

TEST(JobSpec, AnotherClientMayStopItOnPurpose) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  const std::string id = cluster.last_job();
  const auto stopped = cluster.client()->stop_job(id, {});
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(*stopped, "stopped");
  EXPECT_EQ(job.wait().code(), Code::cancelled);
  EXPECT_TRUE(job.has("checkpoint")) << "in good order";
  EXPECT_EQ(cluster.client()->stop_job(id, {}).code(), Code::not_found) << "a coordinator that keeps no jobs";
}

TEST(JobSpec, StopsWhenTheClientThatBeganItHangsUp) {
  const TestCluster cluster(1);
  FromClient first;
  *first.mutable_job() = scripted_job("endless");
  EXPECT_EQ(open_run_job(cluster.coordinator->address(), first, 0.3).code(), Code::deadline_exceeded);
  EXPECT_TRUE(eventually([&] { return cluster.last_job().empty(); }));
}

TEST(JobSpec, WithoutTiersHasNoScheduler) {
  const TestCluster cluster(1);
  const auto client = cluster.client();
  EXPECT_EQ(client->switch_scheduler("end").code(), Code::failed_precondition) << "no job runs";
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  const auto refused = client->switch_scheduler("end");
  EXPECT_EQ(refused.code(), Code::failed_precondition);
  EXPECT_NE(refused.error().message.find("has no tiers"), std::string::npos) << refused.error().message;
}

TEST(JobSpec, GoesOnWithoutALostNode) {
  TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("await_loss"));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  cluster.nodes[1]->shutdown();
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 1);
  ASSERT_EQ(result["events"].size(), 1u);
  EXPECT_EQ(result["events"][0]["event"], "node_left");
  EXPECT_EQ(result["events"][0]["node"], "node-2");
  EXPECT_GE(result["events"][0]["time_s"], 0.0);
  EXPECT_EQ(result["nodes"][1]["state"], "left");
  ASSERT_EQ(job.reports("event").size(), 1u);
  EXPECT_EQ(json::parse(job.reports("event")[0].json), result["events"][0]);
}

TEST(JobSpec, GoesOnWithoutANodeThatFellSilent) {
  TestCluster cluster(1, /*misses=*/5);
  FakeNode frozen(cluster.coordinator->address(), "frozen");
  frozen.hello();
  ASSERT_TRUE(frozen.next());
  RunningJob job(cluster, scripted_job("await_loss"));
  const auto start = frozen.next();
  ASSERT_TRUE(start && start->has_start_role());
  EXPECT_EQ(start->start_role().rank(), 2);
  ASSERT_EQ(start->start_role().ranks_size(), 3);
  EXPECT_EQ(start->start_role().ranks(0).address(), cluster.coordinator->address());
  ASSERT_TRUE(job.wait().ok());
  EXPECT_EQ(result_of(job)["events"][0]["event"], "node_lost");
  EXPECT_EQ(result_of(job)["answers"], 1);
}

TEST(JobSpec, TakesInANodeThatJoinsWhileItRuns) {
  TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("await_join"));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  cluster.add_node("late");
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 2);
  EXPECT_EQ(result["events"][0]["event"], "node_joined");
  EXPECT_EQ(result["events"][0]["node"], "late");
  EXPECT_EQ(result["nodes"][1]["name"], "late");
}

TEST(JobSpec, TakesBackANodeThatWasGone) {
  TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("await_join"));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  cluster.nodes[1]->shutdown();
  ASSERT_TRUE(eventually([&] { return job.has("event"); }));
  cluster.add_node("node-2");
  ASSERT_TRUE(job.wait().ok());
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 2);
  ASSERT_EQ(result["nodes"].size(), 3u) << "its old stay and its new one";
  EXPECT_EQ(result["nodes"][1]["state"], "left");
  EXPECT_EQ(result["nodes"][2]["name"], "node-2");
  EXPECT_EQ(result["nodes"][2]["state"], "alive");
}

TEST(JobSpec, WithANumberOfNodesTakesASpareOneOnlyForOneThatIsLost) {
  TestCluster cluster(3);
  RunningJob job(cluster, scripted_job("await_join", 2));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  cluster.add_node("fourth");
  EXPECT_FALSE(job.has("event"));
  cluster.nodes[0]->shutdown();
  ASSERT_TRUE(job.wait().ok());
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 2);
  ASSERT_EQ(result["events"].size(), 2u);
  EXPECT_EQ(result["events"][0]["event"], "node_left");
  EXPECT_EQ(result["events"][1]["event"], "node_joined");
  EXPECT_EQ(result["events"][1]["node"], "node-3");
}

// Else a message of the newcomer could come to a rank that has not heard of it.
TEST(JobSpec, ANewcomerBeginsWhenAllOthersKnowIt) {
  TestCluster cluster(0, /*misses=*/1000);
  FakeNode first(cluster.coordinator->address(), "first");
  first.hello();
  ASSERT_TRUE(first.next());
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(first.next()->has_start_role());
  FakeNode newcomer(cluster.coordinator->address(), "newcomer");
  newcomer.hello();
  ASSERT_TRUE(newcomer.next()->has_welcome());
  const auto news = first.next();
  ASSERT_TRUE(news && news->has_members_changed());
  ASSERT_EQ(news->members_changed().ranks_size(), 3);
  EXPECT_EQ(news->members_changed().ranks(2).name(), "newcomer");
  EXPECT_FALSE(newcomer.next(0.5)) << "the first node has not said that it knows";
  FromNode known;
  known.mutable_members_known()->set_job_id(news->members_changed().job_id());
  known.mutable_members_known()->set_version(news->members_changed().version());
  first.say(known);
  const auto start = newcomer.next();
  ASSERT_TRUE(start && start->has_start_role());
  EXPECT_EQ(start->start_role().rank(), 2);
  EXPECT_EQ(start->start_role().ranks_size(), 3);
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
}

// It would keep newcomers out for ever.
TEST(JobSpec, ANodeThatDoesNotConfirmThatItKnowsNewcomersIsLeftOut) {
  TestCluster cluster(1, /*misses=*/10);
  FakeNode mute(cluster.coordinator->address(), "mute");
  mute.hello();
  ASSERT_TRUE(mute.next());
  const std::jthread alive([&](const std::stop_token& stop) {
    Mutex mutex;
    Condition woken;
    MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      mute.heartbeat();
      woken.wait_for(mutex, TestCluster::kHeartbeat);
    }
  });
  RunningJob job(cluster, scripted_job("await_join"));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  cluster.add_node("late");
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 2) << "of node-1 and the newcomer";
  ASSERT_EQ(result["events"].size(), 2u) << result["events"];
  EXPECT_EQ(result["events"][0]["event"], "node_joined");
  EXPECT_EQ(result["events"][1]["event"], "node_idle");
  EXPECT_EQ(result["events"][1]["node"], "mute");
  EXPECT_EQ(cluster.listing(), "node-1 alive, mute alive, late alive");
}

TEST(JobSpec, ANodeThatIsIdleInThreeJobsGetsNoFurtherPart) {
  TestCluster cluster(2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cluster.listing(), "node-1 alive, node-2 alive");
    RunningJob job(cluster, scripted_job("rank_2_is_idle"));
    ASSERT_TRUE(job.wait().ok());
    EXPECT_EQ(result_of(job)["answers"], 2);
  }
  EXPECT_EQ(cluster.listing(), "node-1 alive, node-2 idle");
  RunningJob without(cluster, scripted_job("echo"));
  ASSERT_TRUE(without.wait().ok());
  EXPECT_EQ(result_of(without)["answers"], 1);
  RunningJob two(cluster, scripted_job("echo", 2, 0.1));
  const Status too_few = two.wait();
  ASSERT_EQ(too_few.code(), Code::deadline_exceeded);
  EXPECT_NE(too_few.error().message.find("put aside as idle"), std::string::npos) << too_few.error().message;
  EXPECT_NE(too_few.error().message.find("node-2"), std::string::npos) << too_few.error().message;
  cluster.nodes[1]->shutdown();
  ASSERT_TRUE(eventually([&] { return cluster.listing() == "node-1 alive, node-2 left"; })) << cluster.listing();
  cluster.add_node("node-2");
  EXPECT_EQ(cluster.listing(), "node-1 alive, node-2 alive");
  RunningJob again(cluster, scripted_job("echo", 2));
  ASSERT_TRUE(again.wait().ok());
  EXPECT_EQ(result_of(again)["answers"], 2);
}

TEST(JobSpec, ALongReasonOfANodeIsCutShort) {
  TestCluster cluster;
  FakeNode wordy(cluster.coordinator->address(), "wordy");
  wordy.hello();
  ASSERT_TRUE(wordy.next());
  RunningJob job(cluster, scripted_job("bad_data"));
  const auto start = wordy.next();
  ASSERT_TRUE(start && start->has_start_role());
  FromNode ended;
  ended.mutable_role_ended()->set_job_id(start->start_role().job_id());
  ended.mutable_role_ended()->set_rank(start->start_role().rank());
  ended.mutable_role_ended()->set_code(static_cast<int>(Code::not_found));
  ended.mutable_role_ended()->set_message(std::string(60'000, 'x'));
  wordy.say(ended);
  const Status status = job.wait();
  ASSERT_EQ(status.code(), Code::not_found);
  EXPECT_LE(status.error().message.size(), 4096u);
  ASSERT_TRUE(job.has("event"));
  EXPECT_EQ(json::parse(job.reports("event")[0].json)["message"].get<std::string>().size(), 4096u);
}

TEST(JobSpec, ANodeWhoseRoleFailsIsLeftOut) {
  const TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("bad_node_1"));
  ASSERT_TRUE(job.wait().ok());
  const json result = result_of(job);
  EXPECT_EQ(result["answers"], 1);
  EXPECT_EQ(result["events"][0]["event"], "role_failed");
  EXPECT_EQ(result["events"][0]["node"], "node-1");
  EXPECT_EQ(result["events"][0]["message"], "data set 'x' is not here");
}

TEST(JobSpec, WhenEveryRoleFailsItSaysWhyTheFirstDid) {
  const TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("bad_data"));
  const Status status = job.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.error().message.find("node-"), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().message.find("data set 'x' is not here"), std::string::npos) << status.error().message;
}

TEST(JobSpec, AStrategyThatThrowsEndsOnlyItsJob) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("throws"));
  const Status status = job.wait();
  EXPECT_EQ(status.code(), Code::internal);
  RunningJob next(cluster, scripted_job("echo"));
  EXPECT_TRUE(next.wait().ok());
}

TEST(JobSpec, AClientThatVanishesStopsIt) {
  const TestCluster cluster(1);
  FromClient first;
  *first.mutable_job() = scripted_job("endless");
  // its deadline breaks the stream, as the end of its process would
  EXPECT_EQ(open_run_job(cluster.coordinator->address(), first, 0.3).code(), Code::deadline_exceeded);
  EXPECT_TRUE(eventually([&] {
    RunningJob next(cluster, scripted_job("echo"));
    return next.wait().ok();
  }));
}

TEST(JobSpec, ShutdownOfTheCoordinatorGivesTheClientItsCheckpoint) {
  const TestCluster cluster(2);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  cluster.coordinator->shutdown();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
  EXPECT_TRUE(job.has("checkpoint"));
}

TEST(JobSpec, ACoordinatorThatIsGoneIsUnavailable) {
  const TestCluster cluster(1);
  const auto client = cluster.client();
  cluster.coordinator->shutdown();
  const Status status = client->run(scripted_job("echo"), nullptr, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.error().message.find(cluster.coordinator->address()), std::string::npos);
}

TEST(JobSpec, ALargeModelReachesEveryNode) {
  std::atomic<std::size_t> got = 0;
  const TestCluster cluster(2, TestCluster::kMisses, [&](const JobSpec& job, job::RoleContext& context) {
    if (context.endpoint.rank() != 0) got += job.train().model().size();
    return scripted_role(job, context);
  });
  JobSpec large = scripted_job("echo");
  large.mutable_train()->set_model(std::string(20'000'000, 'm'));
  RunningJob job(cluster, large);
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(got, 40'000'000u);
}

}  // namespace
}  // namespace mangrove::cluster
