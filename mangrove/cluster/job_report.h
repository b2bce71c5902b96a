#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/usage.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cluster {

/// Where the time of training steps went, seconds.
struct PhaseSeconds {
  Seconds load = 0, compute = 0, encode = 0, wire = 0, wait = 0;
  Seconds sum() const { return load + compute + encode + wire + wait; }

  static void fields(auto& self, auto& field) {
    field("load_s", self.load);
    field("compute_s", self.compute);
    field("encode_s", self.encode);
    field("wire_s", self.wire);
    field("wait_s", self.wait);
  }
};

/// What a node said in a heartbeat, as metrics.jsonl has it. Counters begin with the job.
struct SampleLine {
  static constexpr const char* kLine = "sample";
  struct Flow {
    std::string peer, purpose;
    Bytes sent_bytes = 0, received_bytes = 0;
    static void fields(auto& self, auto& field) {
      field("peer", self.peer);
      field("purpose", self.purpose);
      field("sent_bytes", self.sent_bytes);
      field("received_bytes", self.received_bytes);
    }
  };
  struct Step {
    std::int64_t step = 0;  // its number
    Seconds time = 0;       // of its end, since the job began
    PhaseSeconds phases;
    static void fields(auto& self, auto& field) {
      field("step", self.step);
      field("time_s", self.time);
      PhaseSeconds::fields(self.phases, field);
    }
  };
  struct Steps {
    PhaseSeconds total;
    std::int64_t count = 0;
    std::vector<Step> recent;  // that no earlier sample had
    static void fields(auto& self, auto& field) {
      PhaseSeconds::fields(self.total, field);
      field("count", self.count);
      field("recent", self.recent);
    }
  };

  std::string node, job;
  Seconds time = 0;                  // since the job began
  double cpu_percent = 0;            // of one core
  std::vector<double> core_percent;  // by core that the process may use
  Bytes rss_bytes = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  Bytes sent_bytes = 0, received_bytes = 0;
  std::vector<Flow> traffic;
  std::optional<double> temperature;  // degrees Celsius
  std::optional<Steps> steps;         // of a worker of training

  static void fields(auto& self, auto& field) {
    field("node", self.node);
    field("job", self.job);
    field("time_s", self.time);
    field("cpu_percent", self.cpu_percent);
    field("core_percent", self.core_percent);
    field("rss_bytes", self.rss_bytes);
    field("minor_faults", self.minor_faults);
    field("major_faults", self.major_faults);
    field("sent_bytes", self.sent_bytes);
    field("received_bytes", self.received_bytes);
    field("traffic", self.traffic);
    field("temperature_c", self.temperature);
    field("steps", self.steps);
  }
};

/// What nodes use.
struct NodesReport {
  std::vector<NodeUsage> nodes;
  std::vector<SampleLine> samples;  // since the last report

  static void fields(auto& self, auto& field) {
    field("nodes", self.nodes);
    field("samples", self.samples);
  }
};

/// What is added to the result of a strategy.
struct JobFacts {
  std::vector<NodeUsage> nodes;
  std::vector<job::Json> events;  // in order

  static void fields(auto& self, auto& field) {
    field("nodes", self.nodes);
    field("events", self.events);
  }
};

/// What is added to the result of a training.
struct JobCurve {
  std::vector<job::Json> epochs;  // what was told of each, see train::EpochReport

  static void fields(auto& self, auto& field) { field("curve", self.epochs); }
};

/// began: when the job did.
Report nodes_report(std::span<const NodeUsage> nodes, std::span<const NodeSample> samples, const std::string& job,
                    Instant began);

/// A strategy's result with what nodes have used, and events (JSON objects, in order).
/// errors: internal (the result is no JSON object).
Result<std::string> complete_result(const std::string& result, std::span<const NodeUsage> nodes,
                                    std::span<const std::string> events);

/// The events in such a result, JSON objects in order; none: it has no readable ones.
std::vector<std::string> events_of(const std::string& result);

}  // namespace mangrove::cluster
