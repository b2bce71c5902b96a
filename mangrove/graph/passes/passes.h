#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// What a rewriting pass may know besides the graph.
struct PassContext {
  bool training = false;  // the result will be trained: parameters and states stay as they are
  /// The outputs of a node from those of its inputs, all constant (an empty tensor where one was left out).
  std::function<Result<std::vector<Tensor>>(const Node&, const std::vector<Tensor>& inputs)> evaluate;
  Bytes* may_add = nullptr;  // bytes of constants that all passes together may still add to the graph
};

/// What a pass made of a graph.
struct Rewrite {
  GraphParts parts;
  std::vector<std::string> notes;  // one for each change: what was done to which node; none: the parts are unchanged
};

/// A rewriting pass: a row of the table. The result computes the same outputs under the same names, up to rounding.
struct Pass {
  std::string_view name;  // "fold_batch_norm"
  std::string_view summary;
  bool inference_only;  // must not run on a graph that is to be trained
  /// One sweep over the graph; a second one may find more. errors: those of PassContext::evaluate.
  Result<Rewrite> (*run)(const Graph& graph, const PassContext& context);
};

/// The table, in the order in which the passes run.
std::span<const Pass> passes();

namespace passes_detail {
Result<Rewrite> drop_identity(const Graph& graph, const PassContext& context);     // drop_identity.cc
Result<Rewrite> fold_constants(const Graph& graph, const PassContext& context);    // fold_constants.cc
Result<Rewrite> fold_batch_norm(const Graph& graph, const PassContext& context);   // fold_batch_norm.cc
Result<Rewrite> keep_bytes(const Graph& graph, const PassContext& context);        // keep_bytes.cc
Result<Rewrite> ready_integers(const Graph& graph, const PassContext& context);    // ready_integers.cc
Result<Rewrite> eliminate_common(const Graph& graph, const PassContext& context);  // eliminate_common.cc
Result<Rewrite> eliminate_dead(const Graph& graph, const PassContext& context);    // eliminate_dead.cc
}  // namespace passes_detail

}  // namespace mangrove
