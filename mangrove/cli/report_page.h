#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mangrove::cli {

/// The report of a training run for a browser: its figures, and curves of loss, accuracy, learning rate and throughput.
/// One HTML text that needs no other file; light or dark as the reader's system is.
///
/// metrics  the lines of metrics.jsonl ("progress" of training and "epoch" are drawn)
/// result   the run's result, or null where it has not ended well
std::string report_page(const std::string& title, const std::vector<nlohmann::json>& metrics,
                        const nlohmann::json& result);

}  // namespace mangrove::cli
