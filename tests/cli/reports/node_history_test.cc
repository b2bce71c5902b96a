#include "mangrove/cli/reports/node_history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"

#include "mangrove/cli/reports/node_charts.h"
#include "mangrove/cluster/straggler.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

json sample(const std::string& node, const std::string& job, double time, std::int64_t sent) {
  return {{"kind", "sample"},
          {"minor_faults", 0},
          {"major_faults", 0},
          {"node", node},
          {"job", job},
          {"time_s", time},
          {"cpu_percent", 10 * time},
          {"core_percent", {20, 40}},
          {"rss_bytes", 50'000'000},
          {"sent_bytes", sent},
          {"received_bytes", 2 * sent},
          {"traffic",
           {{{"peer", "coordinator"}, {"purpose", "gradients"}, {"sent_bytes", sent}, {"received_bytes", 0}},
            {{"peer", "coordinator"}, {"purpose", "parameters"}, {"sent_bytes", 0}, {"received_bytes", 2 * sent}}}}};
}

/// `each`: seconds of every phase of every step.
json with_steps(json of_node, std::int64_t count_in_history, double each) {
  const double all = each * static_cast<double>(count_in_history), end = of_node["time_s"].get<double>();
  json recent = {{"step", count_in_history}, {"time_s", end - 0.1}}, steps = {{"count", count_in_history}};
  for (const char* phase : {"load_s", "compute_s", "encode_s", "wire_s", "wait_s"}) {
    recent[phase] = each;
    steps[phase] = all;
  }
  steps["recent"] = json::array({recent});
  of_node["steps"] = steps;
  return of_node;
}

std::vector<NodeHistory> node_histories(const std::vector<json>& metrics) {
  NodeHistories histories;
  for (const json& line : metrics) histories.take(line);
  return histories.all();
}

TEST(NodeHistory, RatesAreDifferencesOfCounters) {
  const auto nodes = node_histories(
      {sample("a", "j", 1, 4'000'000), sample("b", "j", 1, 0), sample("a", "j", 3, 6'000'000), {{"kind", "progress"}}});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "a");
  EXPECT_EQ(nodes[1].name, "b");
  EXPECT_EQ(nodes[0].sent, (Curve{{1, 4}, {3, 1}})) << "MB/s";
  EXPECT_EQ(nodes[0].received, (Curve{{1, 8}, {3, 2}}));
  EXPECT_EQ(nodes[0].cpu, (Curve{{1, 10}, {3, 30}}));
  EXPECT_EQ(nodes[0].memory, (Curve{{1, 50}, {3, 50}}));
  EXPECT_EQ(nodes[0].cores, (Curve{{1, 30}, {3, 30}}));
  EXPECT_TRUE(nodes[0].temperature.empty());
  EXPECT_EQ(nodes[0].by_purpose.at("gradients").sent_bytes, 6'000'000);
  EXPECT_EQ(nodes[0].by_purpose.at("parameters").received_bytes, 12'000'000);
}

TEST(NodeHistory, AJobBeginsWhereTheOneBeforeEnded) {
  const auto nodes = node_histories({sample("a", "train", 4, 1'000'000), sample("a", "train", 10, 2'000'000),
                                     sample("b", "infer", 1, 3'000'000), sample("a", "infer", 1, 500'000)});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].sent.back(), (std::pair<double, double>{11, 0.5})) << "its counters begin with the job";
  EXPECT_EQ(nodes[1].sent.back(), (std::pair<double, double>{11, 3}));
  EXPECT_EQ(nodes[0].by_purpose.at("gradients").sent_bytes, 2'500'000);
}

TEST(NodeHistory, StepsAreThoseBetweenSamples) {
  const auto nodes =
      node_histories({with_steps(sample("a", "j", 1, 0), 2, 0.1), with_steps(sample("a", "j", 2, 0), 7, 0.1),
                      sample("a", "j", 3, 0)});  // its role has ended
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].steps, 7);
  EXPECT_NEAR(nodes[0].total.wire, 0.7, 1e-9);
  ASSERT_EQ(nodes[0].intervals.size(), 2u);
  EXPECT_NEAR(nodes[0].intervals[1].phases.compute, 0.5, 1e-9);
  EXPECT_EQ(nodes[0].intervals[1].begin, 1);
  EXPECT_EQ(nodes[0].intervals[1].end, 2);
  ASSERT_EQ(nodes[0].last_steps.size(), 2u);
  EXPECT_NEAR(nodes[0].last_steps[1].end, 1.9, 1e-9);
}

TEST(NodeHistory, TakesWhateverIsInTheFile) {
  json odd = sample("a", "j", 1, 1);
  odd["core_percent"] = {"x", nullptr};
  std::vector<json> lines = {nullptr, 5, {{"kind", 3}}, {{"kind", "sample"}}, odd, sample("a", "j", -1e300, 1)};
  for (const json& wrong : {json("<x>"), json(1e300), json::array({7, {{"purpose", 5}}}), json::object()})
    for (const char* key : {"node", "time_s", "rss_bytes", "traffic", "steps"}) {
      json other = sample("a", "j", 1, 1);
      other[key] = wrong;
      lines.push_back(other);
    }
  const auto nodes = node_histories(lines);
  EXPECT_EQ(nodes.size(), 1u) << "a node may have any name";
  EXPECT_EQ(problem_of(node_sections(nodes)), "");
  EXPECT_EQ(node_sections(nodes).find("<x>"), std::string::npos);
}

TEST(NodeHistory, OfALongRunIsBounded) {
  NodeHistories histories;
  for (int second = 1; second <= 20'000; ++second)
    histories.take(with_steps(sample("a", "j", second, 1'000'000LL * second), second, 0.25));
  for (int node = 0; node < 1000; ++node) histories.take(sample(std::to_string(node), "j", 1, 1));
  const std::vector<NodeHistory> nodes = histories.all();
  EXPECT_EQ(nodes.size(), 256u);
  EXPECT_LE(nodes[0].cpu.size(), 1024u);
  EXPECT_LE(nodes[0].intervals.size(), 1024u);
  EXPECT_EQ(nodes[0].steps, 20'000);
  Seconds compute = 0;
  for (std::size_t i = 0; i < nodes[0].intervals.size(); ++i) {
    compute += nodes[0].intervals[i].phases.compute;
    EXPECT_EQ(nodes[0].intervals[i].begin, i == 0 ? 0 : nodes[0].intervals[i - 1].end);
  }
  EXPECT_NEAR(compute, 5000, 1e-6) << "none is lost";
  EXPECT_NEAR(nodes[0].sent[500].second, 1, 1e-9) << "MB/s";
}

std::size_t count_in_history(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(NodeCharts, ShowEveryNodeAndWhereTheTimeWent) {
  std::vector<json> metrics;
  for (int second = 1; second <= 5; ++second) {
    metrics.push_back(with_steps(sample("pi-1", "j", second, 1000 * second), 10 * second, 0.01));
    metrics.push_back(with_steps(sample("pi-<2>", "j", second, 1000 * second), 10 * second, 0.02));
  }
  const std::string html = node_sections(node_histories(metrics));
  EXPECT_EQ(problem_of(html), "");
  EXPECT_EQ(html.find("pi-<2>"), std::string::npos) << "names do not become markup";
  for (const char* text : {"CPU", "Memory", "Sent", "Received", "Training steps", "The last steps", "pi-1",
                           "pi-&lt;2&gt;", "gradients sent / received", "straggler"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(html.find("Temperature"), std::string::npos) << "there is no sensor";
  EXPECT_EQ(count_in_history(html, "<polyline class=\"n0\""), 5u);
  EXPECT_EQ(count_in_history(html, "<polyline class=\"n1\""), 5u);
  EXPECT_NE(html.find("<td>50</td><td>10 ms</td><td>10 ms</td><td>10 ms</td><td>10 ms</td><td>10 ms</td><td></td>"),
            std::string::npos);
  for (const char* phase : {"load", "compute", "encode", "wire", "wait"})
    EXPECT_GE(count_in_history(html, std::string("<rect class=\"") + phase), 2u + 5 + 10) << phase;
  EXPECT_EQ(node_sections({}), "");
}

TEST(NodeCharts, OfInferenceHaveNoSteps) {
  const std::string html = node_sections(node_histories({sample("a", "j", 1, 5), sample("a", "j", 2, 9)}));
  EXPECT_EQ(problem_of(html), "");
  EXPECT_EQ(html.find("Training steps"), std::string::npos);
}

TEST(Straggler, IsWellAboveTheMedianOfTheOthers) {
  using Times = std::vector<Seconds>;
  EXPECT_EQ(cluster::straggler(Times{0.1, 0.11, 0.3, 0.09}), 2u);
  EXPECT_EQ(cluster::straggler(Times{0.1, 0.16}), 1u);
  EXPECT_EQ(cluster::straggler(Times{0.3, 0.3, 0.4, 0.9}), 3u) << "the slowest alone";
  EXPECT_FALSE(cluster::straggler(Times{0.1, 0.11, 0.14, 0.09})) << "a little slower is no straggler";
  EXPECT_EQ(cluster::straggler(Times{0.1, 0.1, 0.3, 0.3}), 2u) << "of two that are as slow, the first";
  EXPECT_FALSE(cluster::straggler(Times{0.1}));
  EXPECT_FALSE(cluster::straggler(Times{}));
  EXPECT_FALSE(cluster::straggler(Times{0, 0, 0.5})) << "nobody to compare with";
  EXPECT_EQ(cluster::straggler(Times{0, 0.1, 0.5, 0}), 2u) << "those without steps do not count";
}

}  // namespace
}  // namespace mangrove::cli
