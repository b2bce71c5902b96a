#pragma once

#include <string>

#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::dashboard {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// The state of a cluster in the text format of Prometheus: what each node uses, how many nodes are in which state, how
/// many jobs run or wait, what was refused. At most a thousand nodes have lines of their own.
std::string cluster_metrics(const cluster::ListNodesResponse& status);

}  // namespace mangrove::dashboard
