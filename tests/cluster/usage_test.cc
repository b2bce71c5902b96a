#include "mangrove/cluster/usage.h"

#include <gtest/gtest.h>

#include <vector>

#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/cluster/step_log.h"
#include "mangrove/cluster/traffic_rate.h"

namespace mangrove::cluster {
namespace {

ResourceUse use(double cpu, Bytes rss, Bytes sent, Bytes received) {
  ResourceUse made;
  made.set_cpu_percent(cpu);
  made.set_rss_bytes(rss);
  made.set_sent_bytes(sent);
  made.set_received_bytes(received);
  return made;
}

TEST(UsageBook, CountsFromTheStartOfTheJob) {
  UsageBook book;
  book.add(1, "a", use(90, 100, 1000, 2000), {0});
  book.sample(1, use(50, 300, 1500, 2100), {1});
  book.sample(1, use(20, 200, 1600, 2300), {3});
  book.sample(2, use(99, 999, 9999, 9999), {3});  // not of this job
  ASSERT_EQ(book.overall().size(), 1u);
  const NodeUsage overall = book.overall().front();
  EXPECT_EQ(overall.name, "a");
  EXPECT_EQ(overall.state, "alive");
  EXPECT_DOUBLE_EQ(overall.cpu_percent, (50.0 * 1 + 20.0 * 2) / 3) << "weighted by time";
  EXPECT_EQ(overall.rss_bytes, 300);
  EXPECT_EQ(overall.sent_bytes, 600);
  EXPECT_EQ(overall.received_bytes, 300);
  const NodeUsage now = book.now().front();
  EXPECT_DOUBLE_EQ(now.cpu_percent, 20);
  EXPECT_EQ(now.rss_bytes, 200);
}

TEST(UsageBook, RemembersWhoIsGone) {
  UsageBook book;
  book.add(1, "a", {}, {0});
  book.add(2, "b", {}, {0});
  book.set_state(2, "lost");
  EXPECT_EQ(book.now()[0].state, "alive");
  EXPECT_EQ(book.now()[1].state, "lost");
}

void add_flow(ResourceUse& use, const std::string& peer, const std::string& purpose, Bytes sent, Bytes received) {
  PeerFlow& flow = *use.add_flows();
  flow.set_peer(peer);
  flow.set_purpose(purpose);
  flow.set_sent_bytes(sent);
  flow.set_received_bytes(received);
}

void add_step(ResourceUse& use, std::int64_t step, double age, double compute) {
  StepSeconds& seconds = *use.mutable_steps()->add_recent();
  seconds.set_step(step);
  seconds.set_age(age);
  seconds.set_compute(compute);
  use.mutable_steps()->set_count(step);
}

TEST(UsageBook, SamplesHoldWhatIsNewSinceTheJobBegan) {
  ResourceUse before = use(0, 100, 1000, 0);
  before.set_minor_faults(50);
  add_flow(before, "b", "gradients", 900, 0);
  add_flow(before, "c", "gradients", 100, 0);  // of an earlier job
  UsageBook book;
  book.add(1, "a", before, {10});
  EXPECT_TRUE(book.take_samples().empty()) << "no heartbeat of this job yet";

  ResourceUse first = use(70, 200, 1500, 40);
  first.set_minor_faults(80);
  add_flow(first, "b", "gradients", 1400, 0);
  add_flow(first, "b", "parameters", 0, 40);
  add_flow(first, "c", "gradients", 100, 0);
  add_step(first, 1, 0.3, 0.1);
  add_step(first, 2, 0.1, 0.2);
  book.sample(1, first, {12});
  std::vector<NodeSample> samples = book.take_samples();
  ASSERT_EQ(samples.size(), 1u);
  const ResourceUse& got = samples[0].use;
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[0].taken, Instant{12});
  EXPECT_EQ(got.sent_bytes(), 500);
  EXPECT_EQ(got.minor_faults(), 30);
  ASSERT_EQ(got.flows_size(), 2) << "nothing went to c";
  EXPECT_EQ(got.flows(0).sent_bytes(), 500);
  EXPECT_EQ(got.flows(1).received_bytes(), 40);
  EXPECT_EQ(got.steps().recent_size(), 2);
  EXPECT_TRUE(book.take_samples().empty()) << "each heartbeat is in one sample";

  ResourceUse second = first;
  add_step(second, 3, 0.1, 0.3);
  book.sample(1, second, {13});
  samples = book.take_samples();
  ASSERT_EQ(samples.size(), 1u);
  ASSERT_EQ(samples[0].use.steps().recent_size(), 1) << "steps 1 and 2 are in the sample before";
  EXPECT_EQ(samples[0].use.steps().recent(0).step(), 3);
}

TEST(StepLog, KeepsSumsAndTheLastFew) {
  StepLog log;
  for (int step = 1; step <= 20; ++step)
    log.add({.ended = {static_cast<double>(step)}, .compute = 0.5, .encode = 0.1, .wire = 0.2, .wait = 0.05});
  const StepUse steps = log.use({25});
  EXPECT_EQ(steps.count(), 20);
  EXPECT_NEAR(steps.total().compute(), 10, 1e-9);
  EXPECT_NEAR(steps.total().encode(), 2, 1e-9);
  EXPECT_NEAR(steps.total().wire(), 4, 1e-9);
  EXPECT_NEAR(steps.total().wait(), 1, 1e-9);
  ASSERT_EQ(steps.recent_size(), 8);
  EXPECT_EQ(steps.recent(0).step(), 13);
  EXPECT_EQ(steps.recent(7).step(), 20);
  EXPECT_NEAR(steps.recent(7).age(), 5, 1e-9);
  EXPECT_EQ(StepLog().use({1}).count(), 0);
}

TEST(TrafficRate, IsThatBetweenHeartbeats) {
  TrafficRate rate;
  rate.update(use(0, 0, 5000, 100), {1});
  EXPECT_EQ(rate.sent(), 0) << "what was sent before is no rate";
  rate.update(use(0, 0, 6000, 150), {1.5});
  EXPECT_DOUBLE_EQ(rate.sent(), 2000);
  EXPECT_DOUBLE_EQ(rate.received(), 100);
  rate.update(use(0, 0, 6001, 150), {1.501});  // the one that is sent when a role ends
  EXPECT_DOUBLE_EQ(rate.sent(), 2000);
  rate.update(use(0, 0, 6000, 150), {2.5});
  EXPECT_DOUBLE_EQ(rate.sent(), 0);
}

TEST(JobReport, WritesNodesAndEvents) {
  const std::vector<NodeUsage> nodes{{"a", "alive", 12.34, 5, 6, 7}};
  EXPECT_EQ(
      nodes_report(nodes, {}, "job-1", {}).json,
      R"({"nodes":[{"name":"a","state":"alive","cpu_percent":12.3,"rss_bytes":5,"sent_bytes":6,"received_bytes":7}],"samples":[]})");
  EXPECT_EQ(NodeEvent(kNodeLost, "a", 1.23456).report().json,
            R"({"event":"node_lost","node":"a","time_s":1.235,"sentence":"a is lost","warning":true})");
  EXPECT_EQ(NodeEvent(kRoleFailed, "a", 0, "no \"x\"").report().json,
            R"({"event":"role_failed","node":"a","time_s":0.0,"message":"no \"x\"",)"
            R"("sentence":"a could not do its part: no \"x\"","warning":true})");
  EXPECT_EQ(NodeEvent(kCoordinatorBack, "h:7070", 0).sentence, "the coordinator at h:7070 answers again");
}

TEST(JobReport, WritesSamples) {
  NodeSample sample{"a", {112.5}, use(50.04, 7, 8, 9)};
  sample.use.add_core_percent(99.96F);
  sample.use.add_core_percent(0);
  sample.use.set_minor_faults(3);
  sample.use.set_temperature_c(61.25);
  add_flow(sample.use, "b", "gradients", 8, 9);
  add_step(sample.use, 4, 0.5, 0.25);
  sample.use.mutable_steps()->mutable_total()->set_compute(1);
  EXPECT_EQ(
      nodes_report({}, std::span(&sample, 1), "job-1", {100}).json,
      R"({"nodes":[],"samples":[{"node":"a","job":"job-1","time_s":12.5,"cpu_percent":50.0,)"
      R"("core_percent":[100.0,0.0],"rss_bytes":7,)"
      R"("minor_faults":3,"major_faults":0,"sent_bytes":8,"received_bytes":9,)"
      R"("traffic":[{"peer":"b","purpose":"gradients","sent_bytes":8,"received_bytes":9}],"temperature_c":61.3,)"
      R"("steps":{"load_s":0.0,"compute_s":1.0,"encode_s":0.0,"wire_s":0.0,"wait_s":0.0,"count":4,)"
      R"("recent":[{"step":4,"time_s":12.0,"load_s":0.0,"compute_s":0.25,"encode_s":0.0,"wire_s":0.0,"wait_s":0.0}]}}]})");
}

TEST(JobReport, SurvivesBytesThatAreNoText) {
  EXPECT_FALSE(NodeEvent(kRoleFailed, "a\xff", 0, "\xc3\x28").report().json.empty());
}

TEST(JobReport, CompletesAResult) {
  const std::vector<NodeUsage> nodes{{"a", "left", 0, 1, 2, 3}};
  const std::vector<std::string> events{NodeEvent(kNodeLeft, "a", 2).report().json, R"({"event":"work_moved"})"};
  const Result<std::string> result = complete_result(R"({"accuracy":0.5,"nodes":[]})", nodes, events);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result,
            R"({"accuracy":0.5,"nodes":[{"name":"a","state":"left","cpu_percent":0.0,"rss_bytes":1,"sent_bytes":2,)"
            R"("received_bytes":3}],"events":[{"event":"node_left","node":"a","time_s":2.0,"sentence":"a has left",)"
            R"("warning":false},{"event":"work_moved"}]})");
}

TEST(JobReport, RefusesAResultThatIsNoObject) {
  for (const char* text : {"", "{", "[]", "7"}) EXPECT_EQ(complete_result(text, {}, {}).code(), Code::internal) << text;
}

}  // namespace
}  // namespace mangrove::cluster
