// Jobs of a coordinator with a state folder: they outlive their clients and the coordinator.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/fake_node.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/base/stop.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

struct KeptJob : ::testing::Test {
  /// The job's line in the list of the coordinator.
  JobStatus listed() const {
    const auto jobs = cluster.client()->jobs();
    return jobs.ok() && !jobs->empty() ? jobs->front() : JobStatus();
  }

  TemporaryFolder folder;
  TestCluster cluster{2, TestCluster::kMisses, scripted_role, folder / "state"};
};

TEST_F(KeptJob, GoesOnAfterARestartAndItsClientWithIt) {
  RunningJob job(cluster, scripted_job("resumable"));
  ASSERT_TRUE(eventually([&] { return job.has("checkpoint"); }));
  cluster.coordinator->shutdown();
  ASSERT_TRUE(eventually([&] { return job.has("event"); }));
  cluster.coordinator.reset();
  cluster.start_coordinator();
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const json result = json::parse(job.reports("result").at(0).json);
  EXPECT_EQ(result["answers"], 2);
  EXPECT_EQ(result["curve"], (json{{{"epoch", 1}, {"loss", 0.5}}})) << "made before the restart";
  std::vector<std::string> events;
  for (const Report& event : job.reports("event")) events.push_back(json::parse(event.json)["event"]);
  EXPECT_EQ(events.front(), "coordinator_lost");
  EXPECT_NE(std::find(events.begin(), events.end(), "coordinator_back"), events.end());
  EXPECT_EQ(listed().state(), "done");
  EXPECT_EQ(listed().starts(), 2);
}

TEST_F(KeptJob, GoesOnWithoutItsClientAndAnotherOneFollows) {
  FromClient first;
  *first.mutable_job() = scripted_job("endless");
  EXPECT_EQ(open_run_job(cluster.coordinator->address(), first, 0.3).code(), Code::deadline_exceeded);
  EXPECT_EQ(listed().state(), "running");
  const std::string id = listed().id();
  std::atomic<int> reports = 0;
  std::stop_source detach;
  const Status status = cluster.client()->follow(
      id,
      [&](const Report&) {
        if (++reports == 3) detach.request_stop();
      },
      detach.get_token());
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_NE(status.error().message.find("job stop " + id), std::string::npos) << status.error().message;
  EXPECT_EQ(listed().state(), "running") << "whoever only follows it does not end it";
  const auto stopped = cluster.client()->stop_job(id, {});
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(*stopped, "stopped");
  EXPECT_EQ(listed().state(), "stopped");
}

TEST_F(KeptJob, OneThatIsOnlySentGoesOnAndIsFollowedFromItsBeginning) {
  const auto id = cluster.client()->submit(scripted_job("epochs"), {});
  ASSERT_TRUE(id.ok()) << id.error().message;
  EXPECT_EQ(listed().id(), *id);
  std::vector<Report> late;
  std::stop_source detach;
  const auto take = [&](const Report& report) {
    late.push_back(report);
    if (report.kind == ReportKind::event && report.json.find("resumed") != std::string::npos) detach.request_stop();
  };
  ASSERT_TRUE(eventually([&] {
    late.clear();
    detach = std::stop_source();
    std::jthread patience([&](const std::stop_token& stop) {
      if (!wait_for_stop(stop, 1)) detach.request_stop();
    });
    EXPECT_EQ(cluster.client()->follow(*id, take, detach.get_token(), true).code(), Code::cancelled);
    return std::ranges::count(late, ReportKind::epoch, &Report::kind) == 2;
  }));
  for (const Report& report : late) EXPECT_EQ(report.attachment, "") << "networks are not told again";
  cluster.add_node("newcomer");
  std::vector<Report> reports;
  const Status ended = cluster.client()->follow(
      *id, [&](const Report& report) { reports.push_back(report); }, {}, true);
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  ASSERT_FALSE(reports.empty());
  const json curve = json::parse(reports.back().json)["curve"];
  ASSERT_EQ(curve.size(), 2u) << reports.back().json;
  EXPECT_EQ(curve[1], (json{{"epoch", 2}, {"loss", 0.25}}));
}

// A power cut takes the nodes a moment before the coordinator: that must not be the end of the job.
TEST_F(KeptJob, ThatLosesAllItsNodesWaitsForThem) {
  RunningJob job(cluster, scripted_job("resumable_alone"));
  ASSERT_TRUE(eventually([&] { return job.has("checkpoint"); }));
  for (const auto& node : cluster.nodes) node->shutdown();
  ASSERT_TRUE(eventually([&] {
    for (const Report& event : job.reports("event"))
      if (event.json.find("waiting_for_nodes") != std::string::npos) return true;
    return false;
  }));
  EXPECT_EQ(listed().state(), "waiting");
  cluster.add_node("late");
  const Status status = job.wait();
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(json::parse(job.reports("result").at(0).json)["answers"], 1);
  EXPECT_EQ(listed().starts(), 2);
}

TEST_F(KeptJob, AStoppedOneDoesNotGoOn) {
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
  cluster.coordinator.reset();
  cluster.start_coordinator();
  EXPECT_EQ(listed().state(), "stopped");
  EXPECT_EQ(listed().starts(), 1);
}

TEST_F(KeptJob, ThatHasEndedCanStillBeFetched) {
  {
    RunningJob job(cluster, scripted_job("echo"));
    ASSERT_TRUE(job.wait().ok());
  }
  const std::string id = listed().id();
  cluster.coordinator.reset();
  cluster.start_coordinator();
  std::vector<Report> reports;
  const Status status = cluster.client()->follow(id, [&](const Report& report) { reports.push_back(report); }, {});
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(json::parse(reports[0].json)["answers"], 2);
  EXPECT_EQ(reports[0].attachment, "model");
  EXPECT_EQ(cluster.client()->follow("job-0", nullptr, {}).code(), Code::not_found);
  const auto late = cluster.client()->stop_job(id, {});
  EXPECT_EQ(late.code(), Code::failed_precondition);
  EXPECT_EQ(late.error().message, "nothing to stop: job " + id + " has come to its end");
  EXPECT_EQ(cluster.client()->stop_job("job-0", {}).code(), Code::not_found);
}

TEST(Coordinator, WithoutAStateFolderTakesNoJobThatIsOnlySent) {
  const TestCluster cluster(1);
  const auto id = cluster.client()->submit(scripted_job("endless"), {});
  EXPECT_EQ(id.code(), Code::failed_precondition);
  EXPECT_NE(id.error().message.find("--state none"), std::string::npos) << id.error().message;
  EXPECT_TRUE(eventually([&] { return cluster.last_job().empty(); })) << "it ends with its client";
}

TEST(Coordinator, WithoutAStateFolderForgetsJobsThatHaveEnded) {
  const TestCluster cluster(1);
  RunningJob job(cluster, scripted_job("endless"));
  ASSERT_TRUE(eventually([&] { return job.has("progress"); }));
  const auto running = cluster.client()->jobs();
  ASSERT_TRUE(running.ok()) << running.error().message;
  ASSERT_EQ(running->size(), 1u);
  EXPECT_EQ(running->front().id(), cluster.last_job());
  EXPECT_EQ(running->front().state(), "running");
  job.request_stop();
  EXPECT_EQ(job.wait().code(), Code::cancelled);
  EXPECT_TRUE(cluster.client()->jobs()->empty());
  const Status unknown = cluster.client()->follow("job-0", nullptr, {});
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_NE(unknown.error().message.find("--state none"), std::string::npos) << unknown.error().message;
}

TEST(JobQueue, RefusesAJobThatMakesNoSenseAndKeepsNothingOfIt) {
  const TemporaryFolder folder;
  CoordinatorOptions options;
  options.listen = "127.0.0.1:0";
  options.state_folder = folder / "state";
  const auto coordinator = Coordinator::start(options);
  ASSERT_TRUE(coordinator.ok()) << coordinator.error().message;
  const auto client = Client::connect((*coordinator)->address());
  ASSERT_TRUE(client.ok()) << client.error().message;
  JobSpec unknown;
  unknown.mutable_train()->set_strategy("\x1b[2J");
  JobSpec out_of_range;
  out_of_range.mutable_infer()->set_strategy("pipeline");
  out_of_range.mutable_infer()->set_micro_batch(-1);
  for (const JobSpec& job : {unknown, out_of_range, JobSpec()}) {
    const Status refused = (*client)->run(job, nullptr, {});
    EXPECT_FALSE(refused.ok());
    EXPECT_NE(refused.code(), Code::failed_precondition) << "it does not even look for nodes";
    EXPECT_NE(refused.code(), Code::unavailable) << refused.error().message;
  }
  const auto jobs = (*client)->jobs();
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_TRUE(jobs->empty());
}

}  // namespace
}  // namespace mangrove::cluster
