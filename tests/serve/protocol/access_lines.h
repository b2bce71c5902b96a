#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove::serve {

/// The lines of an access log; none where there is no such file.
inline std::vector<nlohmann::json> access_lines(const fs::path& file) {
  std::vector<nlohmann::json> lines;
  const auto text = read_file(file);
  std::istringstream all(text.ok() ? *text : "");
  for (std::string line; std::getline(all, line);) lines.push_back(nlohmann::json::parse(line, nullptr, false));
  return lines;
}

}  // namespace mangrove::serve
