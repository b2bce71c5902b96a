#pragma once

#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// The nodes ordered so that each comes after those whose values it uses; among those that could come next, the one
/// that stood first. Values that no node makes are taken as given.
/// cost: O((V + E) log V).
/// errors: invalid_argument: a cycle; the message names one of its nodes.
/// source: Kahn, Topological sorting of large networks, CACM 1962.
Result<std::vector<Node>> topological_sort(std::vector<Node> nodes);

}  // namespace mangrove
