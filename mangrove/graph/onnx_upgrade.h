#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {

/// Rewrites what opsets before 17 said differently, or newer ones say (rewrite_newer_opset), so that the rest of the
/// system knows one opset only: attributes that became inputs (the axes of a Squeeze, the limits of a Clip), operators
/// that got another name (Upsample), outputs that are gone. Drops optional outputs at the end that nobody reads, e.g.
/// the mask of a Dropout. Must see all nodes. errors: unimplemented: an output that our operator lacks is read, a form
/// that opset 17 has not; the message names the node.
Status upgrade_opset(GraphParts& parts, std::int64_t from);

/// Rewrites, in the same way, what cannot be said without the input's shape: a node of opset `from`, its inputs in
/// `values`, as nodes of opset 17. Constants that these need are added to `initializers` and `values`. What opsets
/// after 17 say: see rewrite_newer_with_shapes.
///   Einsum                                    of two operands: see einsum_as_matmul
///   Softmax, LogSoftmax, Hardmax before 13   all dimensions from axis on were taken together
std::vector<Node> upgrade_with_shapes(Node node, std::int64_t from, std::map<std::string, Tensor>& initializers,
                                      Values& values);

}  // namespace mangrove
