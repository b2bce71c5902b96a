#pragma once

#include <functional>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"

namespace mangrove::infer {

/// Rank 0 of any strategy: runs `lead` while the other ranks take commands, and tells them when it is over. errors:
/// those of `lead`; invalid_argument (there are no other ranks).
Status lead_nodes(const InferJob& job, job::RoleContext& context,
                  const std::function<Status(NodeRoster& nodes, Reports& reports)>& lead);

/// Whether the data fits the network. classes: the number of classes that the network must have. errors:
/// invalid_argument (names the data set).
Status check_data(const InferJob& job, const Graph& graph, const Hello& data, std::int64_t classes);

}  // namespace mangrove::infer
