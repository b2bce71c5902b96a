#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::cli {

using cluster::PhaseSeconds;

/// What one node did over a run, from its samples in metrics.jsonl. Times are seconds since the run's first job began;
/// a job that follows begins where the one before ended.
struct NodeHistory {
  std::string name;
  Curve cpu;     // percent of one core, of the node's process
  Curve cores;   // percent, mean of the cores that it may use, whoever uses them
  Curve memory;  // MB
  double peak_memory = 0;
  Curve sent, received;  // MB/s
  Curve temperature;     // degrees Celsius; empty without a sensor

  std::map<std::string, net::Flow> by_purpose;  // over the run

  std::int64_t steps = 0;
  PhaseSeconds total;  // of them
  struct Interval {    // between two samples
    double begin = 0, end = 0;
    PhaseSeconds phases;
  };
  std::vector<Interval> intervals;
  struct Step {
    double end = 0;
    PhaseSeconds phases;
  };
  std::vector<Step> last_steps;  // a few
};

/// Makes histories of nodes from the lines of metrics.jsonl, in bounded memory however many there are: of the first 256
/// nodes, and curves as of ThinnedCurve.
class NodeHistories {
 public:
  NodeHistories();
  ~NodeHistories();
  NodeHistories(const NodeHistories&);
  NodeHistories(NodeHistories&&) noexcept;

  /// Takes the next line of metrics.jsonl; lines that say nothing of nodes are ignored.
  void take(const nlohmann::json& line);
  /// By order of first appearance.
  std::vector<NodeHistory> all() const;

 private:
  class Follower;
  std::vector<Follower> followers_;
  std::map<std::string, double> begins_;  // of the jobs
  double latest_ = 0;
};

}  // namespace mangrove::cli
