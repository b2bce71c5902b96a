#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cli {

/// A cluster at one moment, for people: its jobs, its straggler, and a line for each node with its role, the age of its
/// last heartbeat, CPU, memory and network. Bars grow with the width; nodes that do not fit are counted.
std::vector<FrameLine> top_frame(const std::string& coordinator, const cluster::ListNodesResponse& status,
                                 TerminalSize size);

}  // namespace mangrove::cli
