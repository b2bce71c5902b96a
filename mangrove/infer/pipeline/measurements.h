#pragma once

#include <vector>

#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/device_profile.h"

namespace mangrove::infer {

/// Measures all usable nodes. First each node measures its operators; of the nodes on one machine, only as many measure
/// at the same time as the machine has cores for. Then all links are measured at the same time: each node measures the
/// link to the next rank, the last one to the first. A device is part of two links; the faster of the two gives its
/// rate, because the slower one is limited by the neighbour. A node that is lost or silent meanwhile is left out;
/// one that does not measure its operators is idle (see RoleContext::idle). The results are ordered by rank; there is
/// at least one. errors: those of NodeRoster::next; unavailable (no node has finished after ten times `timeout`).
Result<std::vector<DeviceProfile>> measure_devices(const job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                                   Seconds timeout);

}  // namespace mangrove::infer
