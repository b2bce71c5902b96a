// Several jobs of one coordinator at once.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

int answers_of(RunningJob& job) {
  const std::vector<Report> results = job.reports("result");
  return results.size() == 1 ? json::parse(results.front().json)["answers"].get<int>() : -1;
}

bool has_event(RunningJob& job, const std::string& name) {
  for (const Report& event : job.reports("event"))
    if (json::parse(event.json)["event"] == name) return true;
  return false;
}

JobSpec with_priority(JobSpec job, int priority) {
  job.set_priority(priority);
  return job;
}

JobSpec with_share(JobSpec job, double share) {
  job.set_share(share);
  return job;
}

TEST(SeveralJobs, RunAtOnceOnNodesOfTheirOwn) {
  const TestCluster cluster(3);
  RunningJob first(cluster, scripted_job("endless", 2));
  ASSERT_TRUE(eventually([&] { return first.has("progress"); }));
  RunningJob second(cluster, scripted_job("echo", 1));
  ASSERT_TRUE(second.wait().ok());
  EXPECT_EQ(answers_of(second), 1);
  EXPECT_EQ(json::parse(second.reports("result")[0].json)["nodes"][0]["name"], "node-3");
  EXPECT_FALSE(first.has("checkpoint")) << "it goes on";
  first.request_stop();
  EXPECT_EQ(first.wait().code(), Code::cancelled);
}

TEST(SeveralJobs, OneWaitsForTheNodesOfTheOtherAndSaysSo) {
  const TestCluster cluster(1);
  RunningJob first(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return first.has("progress"); }));
  const std::string blocker = cluster.last_job();
  RunningJob second(cluster, scripted_job("echo", 1, 0.1));
  ASSERT_TRUE(eventually([&] { return second.has("event"); }));
  const json event = json::parse(second.reports("event")[0].json);
  EXPECT_EQ(event["event"], "queued");
  EXPECT_EQ(event["jobs"], json{blocker});
  const auto listed = cluster.client()->jobs();
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->at(0).state(), "waiting");
  EXPECT_EQ(listed->at(1).state(), "running");
  first.request_stop();
  EXPECT_EQ(first.wait().code(), Code::cancelled);
  const Status status = second.wait();
  EXPECT_TRUE(status.ok()) << status.error().message << ": its timeout is for nodes that have not joined";
}

TEST(SeveralJobs, OneThatWaitsForNodesToJoinDoesNotBlameTheOther) {
  TestCluster cluster(1);
  RunningJob first(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return first.has("progress"); }));
  RunningJob second(cluster, scripted_job("echo", 3, 0.3));
  EXPECT_EQ(second.wait().code(), Code::deadline_exceeded);
  EXPECT_FALSE(has_event(second, "queued"));
  const json event = json::parse(second.reports("event").at(0).json);
  EXPECT_EQ(event["event"], "too_few_nodes");
  EXPECT_EQ(event["joined"], 1);
  EXPECT_EQ(event["wanted"], 3);
  first.request_stop();
  EXPECT_EQ(first.wait().code(), Code::cancelled);
}

TEST(SeveralJobs, ShareANodeWhereTheySaySo) {
  std::map<std::string, int> threads;
  std::mutex mutex;
  TestCluster cluster(0, TestCluster::kMisses, [&](const JobSpec& job, job::RoleContext& context) {
    {
      const std::lock_guard lock(mutex);
      if (context.endpoint.rank() != 0) threads[job.train().strategy()] = context.threads;
    }
    return scripted_role(job, context);
  });
  cluster.add_node("wide", {}, /*threads=*/4);
  RunningJob first(cluster, with_share(scripted_job("endless", 1), 0.75));
  ASSERT_TRUE(eventually([&] { return first.has("progress"); }));
  RunningJob second(cluster, with_share(scripted_job("echo", 1), 0.25));
  ASSERT_TRUE(second.wait().ok());
  const json used = json::parse(second.reports("result")[0].json)["nodes"][0];
  EXPECT_GE(used["sent_bytes"], 1000);
  EXPECT_LT(used["sent_bytes"], 3000) << "its own";
  const auto nodes = cluster.client()->nodes();
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->at(0).roles_size(), 1);
  first.request_stop();
  EXPECT_EQ(first.wait().code(), Code::cancelled);
  EXPECT_EQ(threads, (std::map<std::string, int>{{"endless", 3}, {"echo", 1}}));
}

TEST(SeveralJobs, TrainingGivesNodesToAJobOfHigherPriorityAndTakesThemBack) {
  const TestCluster cluster(3);
  RunningJob training(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return training.has("progress"); }));
  RunningJob urgent(cluster, with_priority(scripted_job("echo", 2), 1));
  const Status status = urgent.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(answers_of(urgent), 2);
  EXPECT_TRUE(has_event(training, "node_given_up"));
  EXPECT_TRUE(eventually([&] {
    int joined = 0;
    for (const Report& event : training.reports("event"))
      joined += json::parse(event.json)["event"] == "node_joined" ? 1 : 0;
    return joined == 2;
  })) << "its nodes come back";
  EXPECT_TRUE(eventually([&] {
    int roles = 0;
    const auto nodes = cluster.client()->nodes();
    for (const NodeStatus& node : *nodes) roles += node.roles_size();
    return roles == 3;
  }));
  training.request_stop();
  EXPECT_EQ(training.wait().code(), Code::cancelled);
}

TEST(SeveralJobs, GetNodesWithTheirLabels) {
  TestCluster cluster(1);
  cluster.add_node("north", {}, 1, {"zone=north"});
  JobSpec job = scripted_job("echo");
  job.add_labels("zone=north");
  RunningJob only(cluster, job);
  ASSERT_TRUE(only.wait().ok());
  EXPECT_EQ(json::parse(only.reports("result")[0].json)["nodes"][0]["name"], "north");
  job.set_labels(0, "zone=south");
  job.set_nodes_timeout_s(0.2);
  RunningJob none(cluster, job);
  const Status status = none.wait();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_EQ(status.error().message, "no nodes with the labels zone=south have joined within 200 ms");
}

TEST(SeveralJobs, AreStoppedOneByOne) {
  const TestCluster cluster(2);
  RunningJob first(cluster, scripted_job("endless", 1));
  ASSERT_TRUE(eventually([&] { return first.has("progress"); }));
  const std::string id = cluster.last_job();
  RunningJob second(cluster, scripted_job("endless", 1));
  ASSERT_TRUE(eventually([&] { return second.has("progress"); }));
  EXPECT_TRUE(cluster.client()->stop_job(id, {}).ok());
  EXPECT_EQ(first.wait().code(), Code::cancelled);
  const std::size_t before = second.reports("progress").size();
  EXPECT_TRUE(eventually([&] { return second.reports("progress").size() > before + 10; }));
  second.request_stop();
  EXPECT_EQ(second.wait().code(), Code::cancelled);
}

TEST(SeveralJobs, OfOneClientAreNotWithoutNumber) {
  const TestCluster cluster(1);
  std::vector<std::unique_ptr<RunningJob>> jobs;
  for (int i = 0; i < 32; ++i) jobs.push_back(std::make_unique<RunningJob>(cluster, scripted_job("endless", 1)));
  ASSERT_TRUE(eventually([&] { return cluster.client()->status({})->jobs_size() == 32; }));
  RunningJob last(cluster, scripted_job("endless", 1));
  const Status refused = last.wait();
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("32 jobs of this client"), std::string::npos) << refused.error().message;
  for (const auto& job : jobs) job->request_stop();
  for (const auto& job : jobs) EXPECT_EQ(job->wait().code(), Code::cancelled);
}

TEST(SeveralJobs, AllGoOnAfterARestartOfTheCoordinator) {
  const TemporaryFolder folder;
  TestCluster cluster{3, TestCluster::kMisses, scripted_role, folder / "state"};
  RunningJob first(cluster, scripted_job("resumable", 1)), second(cluster, scripted_job("resumable", 2));
  ASSERT_TRUE(eventually([&] { return first.has("checkpoint") && second.has("checkpoint"); }));
  RunningJob third(cluster, scripted_job("echo", 1));
  ASSERT_TRUE(eventually([&] { return third.has("event"); })) << "it waits for nodes";
  cluster.coordinator->shutdown();
  cluster.coordinator.reset();
  cluster.start_coordinator();
  for (RunningJob* job : {&first, &second, &third}) {
    const Status status = job->wait();
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  EXPECT_EQ(answers_of(first), 1);
  EXPECT_EQ(answers_of(second), 2);
  EXPECT_EQ(answers_of(third), 1);
}

TEST(SeveralJobs, TellTheirEventsLater) {
  const TemporaryFolder folder;
  TestCluster cluster{2, TestCluster::kMisses, scripted_role, folder / "state"};
  RunningJob job(cluster, scripted_job("await_loss"));
  ASSERT_TRUE(eventually([&] { return job.has("nodes"); }));
  const std::string id = cluster.last_job();
  EXPECT_TRUE(cluster.client()->events(id)->empty());
  cluster.nodes[1]->shutdown();
  ASSERT_TRUE(job.wait().ok());
  const auto events = cluster.client()->events(id);
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(json::parse(events->front())["event"], "node_left");
  EXPECT_EQ(cluster.client()->events("job-0").code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove::cluster
