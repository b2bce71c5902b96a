#include "mangrove/cluster/usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/resource_monitor.h"

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

TEST(JobReport, WritesNodesAndEvents) {
  const std::vector<NodeUsage> nodes{{"a", "alive", 12.34, 5, 6, 7}};
  EXPECT_EQ(
      nodes_json(nodes),
      R"({"nodes":[{"name":"a","state":"alive","cpu_percent":12.3,"rss_bytes":5,"sent_bytes":6,"received_bytes":7}]})");
  EXPECT_EQ(event_json("node_lost", "a", 1.23456, ""), R"({"event":"node_lost","node":"a","time_s":1.235})");
  EXPECT_EQ(event_json("role_failed", "a", 0, "no \"x\""),
            R"({"event":"role_failed","node":"a","time_s":0.0,"message":"no \"x\""})");
}

TEST(JobReport, SurvivesBytesThatAreNoText) {
  EXPECT_FALSE(event_json("role_failed", "a\xff", 0, "\xc3\x28").empty());
}

TEST(JobReport, CompletesAResult) {
  const std::vector<NodeUsage> nodes{{"a", "left", 0, 1, 2, 3}};
  const std::vector<std::string> events{event_json("node_left", "a", 2, ""), R"({"event":"work_moved"})"};
  const Result<std::string> result = complete_result(R"({"accuracy":0.5,"nodes":[]})", nodes, events);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result,
            R"({"accuracy":0.5,"nodes":[{"name":"a","state":"left","cpu_percent":0.0,"rss_bytes":1,"sent_bytes":2,)"
            R"("received_bytes":3}],"events":[{"event":"node_left","node":"a","time_s":2.0},{"event":"work_moved"}]})");
}

TEST(JobReport, RefusesAResultThatIsNoObject) {
  for (const char* text : {"", "{", "[]", "7"}) EXPECT_EQ(complete_result(text, {}, {}).code(), Code::internal) << text;
}

TEST(ResourceMonitor, MeasuresABusyThread) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const Deadline end = clock.after(0.2);
  while (clock.now() < end) {
  }
  const ProcessUse busy = monitor.sample();
  EXPECT_GT(busy.cpu_percent, 10) << "a busy loop, even on a machine with much else to do";
  EXPECT_LT(busy.cpu_percent, 100.0 * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) + 50);
  EXPECT_GT(busy.rss_bytes, MiB(1));
}

TEST(ResourceMonitor, SeesMemoryThatIsTouched) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const Bytes before = monitor.sample().rss_bytes;
  const auto size = static_cast<std::size_t>(MiB(32));
  const auto touched = std::make_unique<volatile char[]>(size);  // volatile: the compiler must not leave it out
  for (std::size_t i = 0; i < size; i += 1024) touched[i] = 1;
  EXPECT_GE(monitor.sample().rss_bytes - before, MiB(24));
}

}  // namespace
}  // namespace mangrove::cluster
