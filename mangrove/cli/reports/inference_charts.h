#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/cli/reports/inference_history.h"

namespace mangrove::cli {

/// The parts of a report that show inference: its figures, the network over the nodes as a picture, speed and latency
/// over time, answers by tier or exit, queues and utilisation.
///
/// result   of the job; an empty object while there is none
std::string inference_figures(const nlohmann::json& result);
std::string inference_sections(const InferenceHistory& history, const nlohmann::json& result);

}  // namespace mangrove::cli
