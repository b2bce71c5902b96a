// Takes out nodes whose results nobody needs, and initializers that nobody reads.
#include <algorithm>
#include <set>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"

namespace mangrove::passes_detail {

Result<Rewrite> eliminate_dead(const Graph& graph, const PassContext&) {
  Rewrite rewrite{graph.parts(), {}};
  std::set<std::string> needed(graph.outputs().begin(), graph.outputs().end());
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool live = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](const std::string& output) { return needed.contains(output); });
    if (live) {
      needed.insert(node->inputs.begin(), node->inputs.end());
      kept.push_back(*node);
    } else {
      rewrite.notes.push_back(describe(*node) + " is dropped: nothing needs its result");
    }
  }
  std::reverse(kept.begin(), kept.end());
  rewrite.parts.nodes = std::move(kept);
  std::erase_if(rewrite.parts.initializers, [&](const auto& entry) {
    if (needed.contains(entry.first)) return false;
    rewrite.notes.push_back("initializer '" + entry.first + "' is dropped: nothing reads it");
    return true;
  });
  return rewrite;
}

}  // namespace mangrove::passes_detail
