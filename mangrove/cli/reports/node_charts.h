#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/reports/node_history.h"

namespace mangrove::cli {

/// The parts of a report that show the nodes: curves of CPU, memory, network and temperature over time, bytes by
/// purpose, and where the time of the training steps went. "" where there are no nodes. The page's style sheet has the
/// classes n0 .. n9 for nodes, and compute, encode, wire and wait.
std::string node_sections(const std::vector<NodeHistory>& nodes);

}  // namespace mangrove::cli
