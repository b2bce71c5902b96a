#include "mangrove/learn/class_names.h"

#include <nlohmann/json.hpp>

namespace mangrove::learn {

std::vector<std::string> class_names(const Graph& graph) {
  std::vector<std::string> names;
  const auto stored = graph.metadata().find(kClassesKey);
  if (stored == graph.metadata().end()) return names;
  const auto list = nlohmann::json::parse(stored->second, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return names;
  for (const auto& name : list)
    if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

}  // namespace mangrove::learn
