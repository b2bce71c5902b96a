#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/suggestion.h"

namespace mangrove {

/// The names of a table's rows, in their order. A row has a member `name`.
template <class Table>
std::vector<std::string> row_names(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

/// The row of a table that has this name. It lives as long as the table's rows do, and `table` is no temporary that
/// owns them. errors: `code`: there is none. The message is "WHAT 'NAME'; did you mean 'x'?", so `what` is e.g.
/// "unknown codec".
template <class Table>
auto find_row(const Table& table, std::string_view name, const std::string& what, Code code = Code::not_found)
    -> Result<decltype(std::data(table))> {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return make_error(code, what + " '" + std::string(name) + "'" + suggestion(name, row_names(table)));
}

}  // namespace mangrove
