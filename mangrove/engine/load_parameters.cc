#include "mangrove/engine/load_parameters.h"

namespace mangrove {

Status load_parameters(Execution& execution, const Graph& graph) {
  const auto& placed = execution.program().placed_values();
  for (const std::string& name : graph.parameters()) {
    if (!placed.contains(name)) continue;  // no step reads it
    MG_RETURN_IF_ERROR(execution.set_parameter(name, graph.initializers().at(name)));
  }
  return {};
}

}  // namespace mangrove
