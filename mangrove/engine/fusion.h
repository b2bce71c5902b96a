#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/engine/backend.h"
#include "mangrove/engine/kernel_requests.h"

namespace mangrove {

/// Decides which nodes are computed inside the kernels of a node before them: a chain of followers, each the only user
/// of the result before it, as long as the backend can take them along.
class Fusion {
 public:
  /// Both arguments must outlive this.
  Fusion(const Graph& graph, const Backend& backend, const KernelRequests& requests);

  /// The epilogue of `node`, which comes next: other inputs of its followers must have been made before.
  std::vector<const Node*> epilogue_of(const Node& node, Reading reading) const;
  /// Whether one node alone uses the value, once.
  bool has_one_use(const std::string& value) const;

 private:
  const Node* follower(const Node& node) const;
  bool has_inputs(const Node& node, const std::string& result) const;

  const Graph& graph_;
  const Backend& backend_;
  const KernelRequests& requests_;
  std::map<std::string, std::vector<const Node*>> consumers_;  // by value, once for each use
};

}  // namespace mangrove
