#pragma once

#include <optional>
#include <string>

#include "mangrove/cli/reports/inference_history.h"
#include "mangrove/cli/reports/run_results.h"

namespace mangrove::cli {

/// The parts of a report that show inference: its figures, the network over the nodes as a picture, speed and latency
/// over time, answers by tier or exit, queues and utilisation.
///
/// result   of the job; nothing while there is none
std::string inference_figures(const InferOutcome& result);
std::string inference_sections(const InferenceHistory& history, const std::optional<InferOutcome>& result);

}  // namespace mangrove::cli
