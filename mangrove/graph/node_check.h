#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/operator.h"

namespace mangrove {

/// "node 'conv1' (Conv)": how every message names a node.
std::string describe(const Node& node);

/// The node's row of the operator table.
/// errors: invalid_argument: unknown operator, wrong number of inputs or outputs, unknown attribute or wrong kind of
/// it.
Result<const Operator*> check_node(const Node& node);

}  // namespace mangrove
