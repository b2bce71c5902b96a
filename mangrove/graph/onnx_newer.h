#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {

/// Rewrites what opsets 18 to 21 say otherwise than 17: axes that are inputs, attributes that only name the default.
/// Must see all nodes. What is left to rewrite_newer_with_shapes is checked here.
/// errors: unimplemented: a form that opset 17 has not, such as an antialiased Resize; the message names the node.
Status rewrite_newer_opset(GraphParts& parts, std::int64_t from);

/// Rewrites, in the same way, what cannot be said without the input's shape: a node of opset `from`, its inputs in
/// `values`, as nodes of opset 17. Constants that these need are added to `initializers` and `values`.
///   Split                         into parts of which the last is smaller
///   Pad, Resize                   of some axes only
///   GroupNormalization before 21  had a scale and a bias for each group
std::vector<Node> rewrite_newer_with_shapes(Node node, std::int64_t from, std::map<std::string, Tensor>& initializers,
                                            Values& values);

}  // namespace mangrove
