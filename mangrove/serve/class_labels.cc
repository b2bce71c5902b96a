#include "mangrove/serve/class_labels.h"

#include <algorithm>

#include "mangrove/base/file.h"
#include "mangrove/learn/class_names.h"

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
  return learn::class_names(graph);
}

}  // namespace mangrove::serve
