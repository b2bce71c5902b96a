#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/program.h"
#include "mangrove/engine/step_list.h"

namespace mangrove {

/// What the kernels of a request read where an input is dequantized: its floats, or what it is dequantized from.
enum class Reading { floats, dequantized };

/// Makes the requests that a program in the making has for its backend: what the graph says of a node's values, and
/// what the steps so far say of how they lie.
class KernelRequests {
 public:
  /// needs_gradient: values whose gradient backward computes. All arguments must outlive this.
  KernelRequests(const Graph& graph, const CompileOptions& options, const StepList& steps,
                 const std::set<std::string>& parameters, const std::set<std::string>& needs_gradient)
      : graph_(graph), options_(options), steps_(steps), parameters_(parameters), needs_gradient_(needs_gradient) {
    for (const Node& node : graph.nodes()) {
      for (const std::string& input : node.inputs) {
        ++reads_[input];
        last_reader_[input] = &node;
      }
      if (node.op == "DequantizeLinear") dequantizers_[node.outputs[0]] = &node;
    }
  }

  /// epilogue: the nodes fused into `node`, each using the output of the one before.
  KernelRequest make(const Node& node, std::span<const Node* const> epilogue, Reading reading) const;
  /// Whether the steps so far have made the value, or what it is dequantized from, or it needs none.
  bool is_made(const std::string& value) const;
  /// The node that dequantizes to this value and waits until somebody reads the floats; else null.
  const Node* dequantizer(const std::string& value) const;
  /// Whether one node alone, once, reads the value, or what is dequantized from it.
  bool is_read_once(const std::string& value) const;

 private:
  /// For `of` a KernelRequest or a FusedNode.
  template <class Request>
  void describe_inputs(const Node& node, Reading reading, Request& of) const;
  std::optional<Dequantized> dequantized(const std::string& value) const;
  LayoutPtr layout_of(const std::string& value) const;
  const Tensor* constant(const std::string& value) const;
  ValueInfo bound(const std::string& value) const;

  const Graph& graph_;
  const CompileOptions& options_;
  const StepList& steps_;
  const std::set<std::string>& parameters_;
  const std::set<std::string>& needs_gradient_;
  std::map<std::string, int> reads_;  // of every value, as an input of nodes
  std::map<std::string, const Node*> last_reader_;
  std::map<std::string, const Node*> dequantizers_;  // by output
};

}  // namespace mangrove
