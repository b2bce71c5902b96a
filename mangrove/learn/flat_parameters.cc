#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "mangrove/learn/replica.h"

namespace mangrove::learn {
namespace {

std::vector<float> flat_values(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<float> flat;
  for (const std::string& name : names) {
    const auto elements = graph.initializers().at(name).as<float>();
    flat.insert(flat.end(), elements.begin(), elements.end());
  }
  return flat;
}

Result<Graph> with_flat_values(const Graph& graph, const std::vector<std::string>& names, const char* what,
                               std::span<const float> flat) {
  std::int64_t expected = 0;
  for (const std::string& name : names) expected += graph.value(name).shape.elements();
  if (static_cast<std::int64_t>(flat.size()) != expected) {
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "' has " + std::to_string(expected) + " " +
                                                  what + " elements, got " + std::to_string(flat.size()));
  }
  std::map<std::string, Tensor> replaced;
  for (const std::string& name : names) {
    Tensor tensor(DType::f32, graph.value(name).shape);
    const auto elements = tensor.as<float>();
    std::copy_n(flat.begin(), elements.size(), elements.begin());
    flat = flat.subspan(elements.size());
    replaced.emplace(name, std::move(tensor));
  }
  return graph.with_initializers(replaced);
}

}  // namespace

Result<Graph> with_flat_parameters(const Graph& graph, std::span<const float> flat) {
  return with_flat_values(graph, graph.parameters(), "parameter", flat);
}

Result<Graph> with_flat_states(const Graph& graph, std::span<const float> flat) {
  return with_flat_values(graph, graph.states(), "state", flat);
}

std::vector<float> flat_parameters(const Graph& graph) {
  return flat_values(graph, graph.parameters());
}

std::vector<float> flat_states(const Graph& graph) {
  return flat_values(graph, graph.states());
}

}  // namespace mangrove::learn
