#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/cluster/usage.h"

namespace mangrove::cluster {

/// {"nodes": [{"name", "state", "cpu_percent", "rss_bytes", "sent_bytes", "received_bytes"}], "samples": [...]}, a
/// sample as docs/json.md says; `began` is when the job did.
std::string nodes_json(std::span<const NodeUsage> nodes, std::span<const NodeSample> samples, const std::string& job,
                       Instant began);

/// {"event": "node_lost", "node": "node-2", "time_s": 3.1, "message": "..."}; an empty message is left out.
std::string event_json(const std::string& event, const std::string& node, Seconds time, const std::string& message);

/// A strategy's result with "nodes" and "events" (JSON objects, in order) added. errors: internal (the result is no
/// JSON object).
Result<std::string> complete_result(const std::string& result, std::span<const NodeUsage> nodes,
                                    std::span<const std::string> events);

}  // namespace mangrove::cluster
