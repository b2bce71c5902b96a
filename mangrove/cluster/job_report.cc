#include "mangrove/cluster/job_report.h"

#include <cmath>

namespace mangrove::cluster {
namespace {

double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

std::vector<NodeUsage> rounded(std::span<const NodeUsage> nodes) {
  std::vector<NodeUsage> all(nodes.begin(), nodes.end());
  for (NodeUsage& node : all) node.cpu_percent = rounded(node.cpu_percent, 10);
  return all;
}

PhaseSeconds phases_of(const StepSeconds& step) {
  return {.load = rounded(step.load(), 1e6),
          .compute = rounded(step.compute(), 1e6),
          .encode = rounded(step.encode(), 1e6),
          .wire = rounded(step.wire(), 1e6),
          .wait = rounded(step.wait(), 1e6)};
}

SampleLine line_of(const NodeSample& sample, const std::string& job, Instant began) {
  const ResourceUse& use = sample.use;
  const Seconds time = sample.taken - began;
  SampleLine line;
  line.node = sample.name;
  line.job = job;
  line.time = rounded(time, 1000);
  line.cpu_percent = rounded(use.cpu_percent(), 10);
  for (const float core : use.core_percent()) line.core_percent.push_back(rounded(core, 10));
  line.rss_bytes = use.rss_bytes();
  line.minor_faults = use.minor_faults();
  line.major_faults = use.major_faults();
  line.sent_bytes = use.sent_bytes();
  line.received_bytes = use.received_bytes();
  for (const PeerFlow& flow : use.flows())
    line.traffic.push_back({flow.peer(), flow.purpose(), flow.sent_bytes(), flow.received_bytes()});
  if (use.has_temperature_c()) line.temperature = rounded(use.temperature_c(), 10);
  if (use.steps().count() == 0) return line;
  line.steps = SampleLine::Steps{.total = phases_of(use.steps().total()), .count = use.steps().count(), .recent = {}};
  for (const StepSeconds& step : use.steps().recent())
    line.steps->recent.push_back({step.step(), rounded(time - step.age(), 1e6), phases_of(step)});
  return line;
}

}  // namespace

Report nodes_report(std::span<const NodeUsage> nodes, std::span<const NodeSample> samples, const std::string& job,
                    Instant began) {
  NodesReport report{.nodes = rounded(nodes), .samples = {}};
  for (const NodeSample& sample : samples) report.samples.push_back(line_of(sample, job, began));
  return {ReportKind::nodes, dump(job::json_of(report))};
}

Result<std::string> complete_result(const std::string& result, std::span<const NodeUsage> nodes,
                                    std::span<const std::string> events) {
  job::Json json = job::Json::parse(result, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return make_error(Code::internal, "the strategy's result is no JSON object: " + result);
  JobFacts facts{.nodes = rounded(nodes), .events = {}};
  for (const std::string& event : events) {
    job::Json parsed = job::Json::parse(event, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_discarded()) facts.events.push_back(std::move(parsed));
  }
  job::add_fields(facts, json);
  return dump(json);
}

std::vector<std::string> events_of(const std::string& result) {
  const job::Json json = job::Json::parse(result, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> events;
  if (!json.is_object() || !json.contains("events")) return events;
  for (const job::Json& event : json["events"])
    if (event.is_object()) events.push_back(dump(event));
  return events;
}

}  // namespace mangrove::cluster
