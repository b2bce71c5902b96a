#pragma once

#include <cstdint>

#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove::infer {

/// Bytes of the samples that a node has at hand which reads them: two micro-batches are prepared while one is computed.
Bytes bytes_read(const Graph& graph, std::int64_t micro_batch);

/// Bytes of the network's largest parameter: a node has it once more while it is on its way.
Bytes largest_weight(const Graph& graph);

}  // namespace mangrove::infer
