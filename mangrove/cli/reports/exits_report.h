#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/exits/evaluation.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// A network with early exits beside itself without: keys `exits`, `without_exits`, `seconds_per_sample`, `speedup`, as
/// docs/json.md lists them.
nlohmann::json exits_report(const Graph& network, const std::vector<float>& thresholds,
                            const exits::ExitEvaluation& evaluation);

/// Of a report with those keys, for people; else empty.
std::string exit_rows(const nlohmann::json& report);

}  // namespace mangrove::cli
