#include "mangrove/infer/pipeline/memory_besides.h"

#include <algorithm>

#include "mangrove/graph/cut.h"

namespace mangrove::infer {

Bytes bytes_read(const Graph& graph, std::int64_t micro_batch) {
  constexpr Bytes kBatches = 3;
  Bytes bytes = 0;
  for (const auto& [name, info] : graph.inputs())
    if (!graph.initializers().contains(name)) bytes += kBatches * 4 * elements_of(info, micro_batch);
  return bytes;
}

Bytes largest_weight(const Graph& graph) {
  Bytes most = 0;
  for (const std::string& name : graph.parameters()) most = std::max(most, graph.initializers().at(name).bytes());
  return most;
}

}  // namespace mangrove::infer
