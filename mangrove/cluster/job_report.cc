#include "mangrove/cluster/job_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

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

// messages of peers may hold bytes that are no UTF-8
std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string nodes_json(std::span<const NodeUsage> nodes) {
  return dump({{"nodes", nodes_array(nodes)}});
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
