#include "mangrove/dashboard/cluster_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "mangrove/serve/protocol/metrics_text.h"

namespace mangrove::dashboard {
namespace {

using cluster::NodeStatus;

constexpr int kMostNodes = 1000;

/// A number of a node, that is exported under a name of its own.
struct NodeMetric {
  const char* name;
  const char* kind;  // "counter": it only grows; "gauge"
  const char* help;
  std::optional<double> (*value)(const NodeStatus& node);  // nothing: the node has none
};
constexpr NodeMetric kNodeMetrics[] = {
    {"mangrove_node_cpu_seconds_per_second", "gauge", "Cores that the node's process keeps busy.",
     [](const NodeStatus& n) { return std::optional(n.use().cpu_percent() / 100); }},
    {"mangrove_node_resident_memory_bytes", "gauge", "Resident memory of the node's process.",
     [](const NodeStatus& n) { return std::optional(static_cast<double>(n.use().rss_bytes())); }},
    {"mangrove_node_memory_bytes", "gauge", "Memory of the device.",
     [](const NodeStatus& n) { return std::optional(static_cast<double>(n.description().memory_bytes())); }},
    {"mangrove_node_sent_bytes_total", "counter", "Bytes of messages of jobs that the node has sent.",
     [](const NodeStatus& n) { return std::optional(static_cast<double>(n.use().sent_bytes())); }},
    {"mangrove_node_received_bytes_total", "counter", "Bytes of messages of jobs that the node has received.",
     [](const NodeStatus& n) { return std::optional(static_cast<double>(n.use().received_bytes())); }},
    {"mangrove_node_temperature_celsius", "gauge", "Temperature of the hottest sensor.",
     [](const NodeStatus& n) {
       return n.use().has_temperature_c() ? std::optional(n.use().temperature_c()) : std::nullopt;
     }},
    {"mangrove_node_heartbeat_age_seconds", "gauge", "Time since the last heartbeat.",
     [](const NodeStatus& n) { return std::optional(n.heartbeat_age()); }},
    {"mangrove_node_roles", "gauge", "Roles that the node plays in jobs.",
     [](const NodeStatus& n) { return std::optional(static_cast<double>(n.roles_size())); }},
};

void begin(std::string& text, const char* name, const char* kind, const char* help) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
}

void add_nodes(std::string& text, const cluster::ListNodesResponse& status) {
  const int nodes = std::min(status.nodes_size(), kMostNodes);
  for (const NodeMetric& metric : kNodeMetrics) {
    begin(text, metric.name, metric.kind, metric.help);
    for (int i = 0; i < nodes; ++i)
      if (const auto value = metric.value(status.nodes(i)))
        text += fmt::format("{}{{node=\"{}\"}} {}\n", metric.name,
                            serve::label_value(status.nodes(i).description().name()), *value);
  }
}

/// How many there are of each word, under a label.
void add_counts(std::string& text, const char* name, const char* label,
                const std::map<std::string, std::int64_t>& all) {
  for (const auto& [word, count] : all)
    text += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, serve::label_value(word), count);
}

}  // namespace

std::string cluster_metrics(const cluster::ListNodesResponse& status) {
  std::string text;
  std::map<std::string, std::int64_t> states = {{"alive", 0}, {"idle", 0}, {"lost", 0}, {"left", 0}};
  for (const NodeStatus& node : status.nodes()) ++states[node.state()];
  begin(text, "mangrove_nodes", "gauge", "Nodes of the cluster by state.");
  add_counts(text, "mangrove_nodes", "state", states);
  std::map<std::string, std::int64_t> jobs = {{"running", 0}, {"waiting", 0}};
  for (const cluster::CurrentJob& job : status.jobs()) ++jobs[job.state()];
  begin(text, "mangrove_jobs", "gauge", "Jobs that have not ended by state.");
  add_counts(text, "mangrove_jobs", "state", jobs);
  begin(text, "mangrove_refused_total", "counter", "What the coordinator has refused, by the reason.");
  add_counts(text, "mangrove_refused_total", "reason", {status.refused().begin(), status.refused().end()});
  add_nodes(text, status);
  return text;
}

}  // namespace mangrove::dashboard
