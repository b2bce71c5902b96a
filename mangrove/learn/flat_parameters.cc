#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "mangrove/learn/replica.h"

namespace mangrove::learn {

Result<Graph> with_flat_parameters(const Graph& graph, std::span<const float> flat) {
  if (static_cast<std::int64_t>(flat.size()) != graph.parameter_elements()) {
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "' has " +
                                                  std::to_string(graph.parameter_elements()) +
                                                  " parameter elements, got " + std::to_string(flat.size()));
  }
  std::map<std::string, Tensor> replaced;
  for (const std::string& name : graph.parameters()) {
    Tensor tensor(DType::f32, graph.value(name).shape);
    const auto elements = tensor.as<float>();
    std::copy_n(flat.begin(), elements.size(), elements.begin());
    flat = flat.subspan(elements.size());
    replaced.emplace(name, std::move(tensor));
  }
  return graph.with_initializers(replaced);
}

std::vector<float> flat_parameters(const Graph& graph) {
  std::vector<float> flat;
  flat.reserve(static_cast<std::size_t>(graph.parameter_elements()));
  for (const std::string& name : graph.parameters()) {
    const auto elements = graph.initializers().at(name).as<float>();
    flat.insert(flat.end(), elements.begin(), elements.end());
  }
  return flat;
}

}  // namespace mangrove::learn
