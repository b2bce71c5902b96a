#pragma once

#include <string>

namespace mangrove::testing {

/// The absolute path of a file of this repository, such as "docs/json.md".
std::string repository_path(const std::string& path);

/// The absolute path of the `mangrove` program of this build.
std::string program();

}  // namespace mangrove::testing
