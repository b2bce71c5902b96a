#include "mangrove/serve/class_labels.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/file.h"

namespace mangrove::serve {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> class_labels(const std::string& file, const Graph& graph) {
  if (!file.empty()) {
    MG_TRY(const std::string text, read_file(file));
    return lines_of(text);
  }
  std::vector<std::string> labels;
  const auto stored = graph.metadata().find("mangrove.classes");
  if (stored == graph.metadata().end()) return labels;
  const auto names = nlohmann::json::parse(stored->second, nullptr, /*allow_exceptions=*/false);
  if (!names.is_array()) return labels;
  for (const auto& name : names)
    if (name.is_string()) labels.push_back(name.get<std::string>());
  return labels;
}

}  // namespace mangrove::serve
