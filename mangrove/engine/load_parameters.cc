#include "mangrove/engine/load_parameters.h"

namespace mangrove {

Status load_parameters(Execution& execution, const Graph& graph) {
  return load_parameters_from([&](const std::string& name) { return graph.initializers().at(name); }, execution, graph);
}

Status load_parameters_from(const ParameterValues& values, Execution& execution, const Graph& graph) {
  const auto& placed = execution.program().placed_values();
  for (const std::string& name : graph.parameters()) {
    if (!placed.contains(name)) continue;  // no step reads it
    MG_TRY(const Tensor value, values(name));
    MG_RETURN_IF_ERROR(execution.set_parameter(name, value));
  }
  return {};
}

}  // namespace mangrove
