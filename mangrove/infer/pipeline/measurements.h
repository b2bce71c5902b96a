#pragma once

#include <vector>

#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/device_profile.h"

namespace mangrove::infer {

/// Measures all usable nodes: first each its operators, nodes of one machine only as many at once as it has cores for
/// them; then the links, all at once, each node that to the next one (by rank, the last one that to the first). Of a
/// device's two links the faster one counts: the slower one's rate is the neighbour's. A node that is lost or silent
/// meanwhile is not among the results. They are by rank, at least one.
/// errors: those of NodeRoster::next; unavailable (no node does it in ten times `timeout`).
Result<std::vector<DeviceProfile>> measure_devices(const job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                                   Seconds timeout);

}  // namespace mangrove::infer
