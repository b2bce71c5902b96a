#pragma once

#include <optional>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/baseline.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// A network, its data, and the devices that it is to be placed on: what a plan is made for.
struct MeasuredNetwork {
  Graph graph;
  Hello data;
  std::vector<DeviceProfile> devices;
};

/// Waits for the nodes, checks that the data fits the network, and measures the devices. graph: the job's network.
/// errors: those of NodeRoster::gather, check_data and measure_devices.
Result<MeasuredNetwork> measure_network(const InferJob& job, Graph graph, job::RoleContext& context, NodeRoster& nodes,
                                        Reports& reports);

/// Whether a node has the whole network.
bool has_network(const NodeRoster& nodes, net::Rank rank);

/// Has one node classify everything, and corrects the devices' times by its own. Nothing: the job wants no baseline, or
/// no node has the memory for the whole network. errors: those of run_baseline.
Result<std::optional<Baseline>> find_baseline(const InferJob& job, const job::RoleContext& context, NodeRoster& nodes,
                                              Reports& reports, MeasuredNetwork& measured);

}  // namespace mangrove::infer
