// What Prometheus reads of a cluster.
#include "mangrove/dashboard/cluster_metrics.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace mangrove::dashboard {
namespace {

void add_node(cluster::ListNodesResponse& status, const std::string& name, const std::string& state) {
  cluster::NodeStatus& node = *status.add_nodes();
  node.mutable_description()->set_name(name);
  node.mutable_description()->set_memory_bytes(1'000'000'000);
  node.set_state(state);
  node.mutable_use()->set_cpu_percent(150);
  node.mutable_use()->set_sent_bytes(12345);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(ClusterMetrics, CountNodesAndSayWhatEachUses) {
  cluster::ListNodesResponse status;
  add_node(status, "pi-1", "alive");
  add_node(status, "pi-2", "lost");
  status.mutable_nodes(0)->mutable_use()->set_temperature_c(61.5);
  status.add_jobs()->set_state("waiting");
  (*status.mutable_refused())["not_allowed"] = 7;
  const std::string text = cluster_metrics(status);
  for (const char* line :
       {R"(mangrove_nodes{state="alive"} 1)", R"(mangrove_nodes{state="lost"} 1)", R"(mangrove_nodes{state="left"} 0)",
        R"(mangrove_jobs{state="waiting"} 1)", R"(mangrove_refused_total{reason="not_allowed"} 7)",
        R"(mangrove_node_cpu_seconds_per_second{node="pi-1"} 1.5)",
        R"(mangrove_node_sent_bytes_total{node="pi-2"} 12345)",
        R"(mangrove_node_temperature_celsius{node="pi-1"} 61.5)", "# TYPE mangrove_node_sent_bytes_total counter"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_EQ(text.find(R"(mangrove_node_temperature_celsius{node="pi-2"})"), std::string::npos)
      << "a device without a sensor has no temperature";
}

TEST(ClusterMetrics, NamesOfNodesCannotBreakTheFormat) {
  cluster::ListNodesResponse status;
  add_node(status, "a\"} 1\nmangrove_nodes 7\\", "alive");
  EXPECT_TRUE(has_line(cluster_metrics(status), R"(mangrove_node_roles{node="a\"} 1\nmangrove_nodes 7\\"} 0)"))
      << cluster_metrics(status);
}

TEST(ClusterMetrics, ManyNodesHaveABound) {
  cluster::ListNodesResponse status;
  for (int i = 0; i < 1500; ++i) add_node(status, "n" + std::to_string(i), "alive");
  const std::string text = cluster_metrics(status);
  EXPECT_TRUE(has_line(text, R"(mangrove_nodes{state="alive"} 1500)"));
  EXPECT_NE(text.find(R"({node="n999"})"), std::string::npos);
  EXPECT_EQ(text.find(R"({node="n1000"})"), std::string::npos);
}

TEST(ClusterMetrics, EachNameIsDescribedOnce) {
  cluster::ListNodesResponse status;
  add_node(status, "a", "alive");
  add_node(status, "b", "alive");
  std::istringstream lines(cluster_metrics(status));
  std::set<std::string> described;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      EXPECT_TRUE(described.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
    }
    if (!line.starts_with("#")) {
      EXPECT_TRUE(described.contains(line.substr(0, line.find_first_of("{ ")))) << line;
    }
  }
  EXPECT_GE(described.size(), 10u);
}

}  // namespace
}  // namespace mangrove::dashboard
