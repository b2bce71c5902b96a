#include "mangrove/cli/sources/rewriting.h"

#include <sstream>

#include "mangrove/base/suggestion.h"
#include "mangrove/engine/optimize.h"

namespace mangrove::cli {

std::string disable_pass_help() {
  std::vector<std::string> names;
  for (const PassName& pass : pass_names()) names.emplace_back(pass.name);
  return "rewriting passes to leave out, separated by commas: " + join_words(names);
}

std::vector<std::string> parse_names(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    if (!part.empty()) names.push_back(part);
  }
  return names;
}

Result<std::set<std::string>> parse_pass_names(const std::string& list) {
  const std::vector<std::string> given = parse_names(list);
  std::set<std::string> names(given.begin(), given.end());
  MG_RETURN_IF_ERROR(check_pass_names(names).context("disable_pass"));
  return names;
}

Result<Graph> rewritten_for_inference(const Graph& graph, const std::set<std::string>& disabled) {
  MG_TRY(Optimized optimized, optimize(graph, {.mode = Mode::inference, .disabled = disabled}));
  return std::move(optimized.graph);
}

}  // namespace mangrove::cli
