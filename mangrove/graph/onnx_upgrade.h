#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// Rewrites what opsets before 17 said differently, so that the rest of the system knows one opset only; drops outputs
/// that our operators lack and nobody reads (the mask of a Dropout). Must see all nodes.
///   Softmax before 13   the default of axis was 1 (and dimensions from there on were taken together, which is the same
///                       where axis is the last; the shape rule refuses other cases)
///   Dropout before 12   ratio was an attribute; now it is input 1
/// errors: unimplemented: such an output is read; the message names node and output.
Status upgrade_opset(GraphParts& parts, std::int64_t from);

}  // namespace mangrove
