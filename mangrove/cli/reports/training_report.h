#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// How a process would train the network with SGD and momentum at this batch within `memory` bytes (0: most of what
/// the system allows), part by part. errors: resource_exhausted (says the least that would do).
Result<nlohmann::json> training_report(const Graph& graph, std::int64_t batch, Bytes memory);

/// The report for people.
std::string training_text(const nlohmann::json& report);

}  // namespace mangrove::cli
