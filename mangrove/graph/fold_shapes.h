#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {

struct FoldOptions {
  std::set<std::string> constants = {};  // floating-point initializers that stand for numbers, not weights
  /// Nodes to take in place of one whose inputs' shapes are in the values; may add initializers, and these to the
  /// values. Null: every node is taken as it is.
  std::function<std::vector<Node>(Node, std::map<std::string, Tensor>& initializers, Values&)> rewrite = {};
};

/// Replaces the computations of shapes in a file by what they give: a node whose inputs are all known (constants, and
/// shapes, of which the batch may be symbolic) disappears, and its result becomes an initializer of those that use it.
/// So x.view(x.size(0), -1), F.interpolate or the zero states of an LSTM become nodes with constant shapes.
/// Initializers that only such computations used disappear too.
///
/// Where k times the batch is part of a known value, a Reshape gets 0 or -1 in its place, an Expand, a ConstantOfShape
/// and the sizes of a Resize -k, the end of a Slice along the batch the largest integer; a zero state of an LSTM, GRU
/// or RNN, whatever the batch, is left out.
///
/// parts: of opset 17, once rewritten; the result's nodes are in topological order
/// errors: unimplemented: an operator that is not in the table; an input that must be constant but is not (the message
/// says on what it depends); else those of Graph::create.
Result<GraphParts> fold_shapes(GraphParts parts, const FoldOptions& options);

}  // namespace mangrove
