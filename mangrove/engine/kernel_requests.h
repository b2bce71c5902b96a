#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/program.h"
#include "mangrove/engine/step_list.h"

namespace mangrove {

/// Makes the requests that a program in the making has for its backend: what the graph says of a node's values, and
/// what the steps so far say of how they lie.
class KernelRequests {
 public:
  /// needs_gradient: values whose gradient backward computes. All arguments must outlive this.
  KernelRequests(const Graph& graph, const CompileOptions& options, const StepList& steps,
                 const std::set<std::string>& parameters, const std::set<std::string>& needs_gradient)
      : graph_(graph), options_(options), steps_(steps), parameters_(parameters), needs_gradient_(needs_gradient) {
    for (const Node& node : graph.nodes()) {
      for (const std::string& input : node.inputs) ++reads_[input];
    }
  }

  /// epilogue: the nodes fused into `node`, each using the output of the one before.
  KernelRequest make(const Node& node, std::span<const Node* const> epilogue) const;
  /// Whether the steps so far have made the value, or it needs none.
  bool is_made(const std::string& value) const;

 private:
  /// For `of` a KernelRequest or a FusedNode.
  template <class Request>
  void describe_inputs(const Node& node, Request& of) const;
  LayoutPtr layout_of(const std::string& value) const;
  const Tensor* constant(const std::string& value) const;
  ValueInfo bound(const std::string& value) const;

  const Graph& graph_;
  const CompileOptions& options_;
  const StepList& steps_;
  const std::set<std::string>& parameters_;
  const std::set<std::string>& needs_gradient_;
  std::map<std::string, int> reads_;  // of every value, as an input of nodes
};

}  // namespace mangrove
