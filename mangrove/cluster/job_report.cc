#include "mangrove/cluster/job_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"

namespace mangrove::cluster {
namespace {

using nlohmann::ordered_json;

double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

ordered_json nodes_array(std::span<const NodeUsage> nodes) {
  ordered_json array = ordered_json::array();
  for (const NodeUsage& node : nodes)
    array.push_back({{"name", node.name},
                     {"state", node.state},
                     {"cpu_percent", rounded(node.cpu_percent, 10)},
                     {"rss_bytes", node.rss_bytes},
                     {"sent_bytes", node.sent_bytes},
                     {"received_bytes", node.received_bytes}});
  return array;
}

ordered_json step_seconds(const StepSeconds& step) {
  return {{"load_s", rounded(step.load(), 1e6)},
          {"compute_s", rounded(step.compute(), 1e6)},
          {"encode_s", rounded(step.encode(), 1e6)},
          {"wire_s", rounded(step.wire(), 1e6)},
          {"wait_s", rounded(step.wait(), 1e6)}};
}

ordered_json sample_object(const NodeSample& sample, const std::string& job, Instant began) {
  const ResourceUse& use = sample.use;
  const Seconds time = sample.taken - began;
  ordered_json json = {{"node", sample.name},
                       {"job", job},
                       {"time_s", rounded(time, 1000)},
                       {"cpu_percent", rounded(use.cpu_percent(), 10)},
                       {"core_percent", ordered_json::array()},
                       {"rss_bytes", use.rss_bytes()},
                       {"minor_faults", use.minor_faults()},
                       {"major_faults", use.major_faults()},
                       {"sent_bytes", use.sent_bytes()},
                       {"received_bytes", use.received_bytes()},
                       {"traffic", ordered_json::array()}};
  for (const float core : use.core_percent()) json["core_percent"].push_back(rounded(core, 10));
  if (use.has_temperature_c()) json["temperature_c"] = rounded(use.temperature_c(), 10);
  for (const PeerFlow& flow : use.flows())
    json["traffic"].push_back({{"peer", flow.peer()},
                               {"purpose", flow.purpose()},
                               {"sent_bytes", flow.sent_bytes()},
                               {"received_bytes", flow.received_bytes()}});
  if (use.steps().count() == 0) return json;
  json["steps"] = step_seconds(use.steps().total());
  json["steps"]["count"] = use.steps().count();
  json["steps"]["recent"] = ordered_json::array();
  for (const StepSeconds& step : use.steps().recent()) {
    ordered_json recent = {{"step", step.step()}, {"time_s", rounded(time - step.age(), 1e6)}};
    recent.update(step_seconds(step));
    json["steps"]["recent"].push_back(std::move(recent));
  }
  return json;
}

}  // namespace

std::string nodes_json(std::span<const NodeUsage> nodes, std::span<const NodeSample> samples, const std::string& job,
                       Instant began) {
  ordered_json json = {{"nodes", nodes_array(nodes)}, {"samples", ordered_json::array()}};
  for (const NodeSample& sample : samples) json["samples"].push_back(sample_object(sample, job, began));
  return dump(json);
}

std::string event_json(const std::string& event, const std::string& node, Seconds time, const std::string& message) {
  ordered_json json = {{"event", event}, {"node", node}, {"time_s", rounded(time, 1000)}};
  if (!message.empty()) json["message"] = message;
  return dump(json);
}

Result<std::string> complete_result(const std::string& result, std::span<const NodeUsage> nodes,
                                    std::span<const std::string> events) {
  ordered_json json = ordered_json::parse(result, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return make_error(Code::internal, "the strategy's result is no JSON object: " + result);
  json["nodes"] = nodes_array(nodes);
  json["events"] = ordered_json::array();
  for (const std::string& event : events) {
    ordered_json parsed = ordered_json::parse(event, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_discarded()) json["events"].push_back(std::move(parsed));
  }
  return dump(json);
}

}  // namespace mangrove::cluster
