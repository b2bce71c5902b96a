#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/cli/run_folder.h"

namespace mangrove::cli {

/// The report of a run for a browser: its figures; of training, curves of loss, accuracy, learning rate and throughput;
/// and what its nodes did. One HTML text that needs no other file; light or dark as the reader's system is.
///
/// metrics  the lines of metrics.jsonl
/// results  what has ended well: {"train": {...}, "infer": {...}}; else empty
std::string report_page(const std::string& title, const std::vector<nlohmann::json>& metrics,
                        const nlohmann::json& results);

/// The same of a run folder, also while the run goes on. errors: not_found (no such folder, or no run's), data_loss (a
/// file of it cannot be read; names it).
Result<std::string> report_of_folder(const fs::path& folder);

/// report.html of the run, unless it has no metrics: it ran no job.
Status write_report(RunFolder& folder);

}  // namespace mangrove::cli
