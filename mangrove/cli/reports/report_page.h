#pragma once

#include <string>

#include "mangrove/cli/reports/run_record.h"

namespace mangrove::cli {

/// The report of a run for a browser: its figures; curves of training; what inference did; the network over the nodes;
/// the virtual world that it was in; and what its nodes did. One HTML text that needs no other file.
std::string report_page(const RunRecord& run);

}  // namespace mangrove::cli
