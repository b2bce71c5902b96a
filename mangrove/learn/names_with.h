#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mangrove::learn {

/// The names of the rows that read this constant, which is one of the names in their `constants`, with commas between.
template <class Table>
std::vector<std::string> names_with(const Table& table, std::string_view constant) {
  const std::string wanted = "," + std::string(constant) + ",";
  std::vector<std::string> names;
  for (const auto& row : table)
    if (("," + std::string(row.constants) + ",").find(wanted) != std::string::npos) names.emplace_back(row.name);
  return names;
}

}  // namespace mangrove::learn
