#pragma once

#include <string>

namespace mangrove {

/// What this machine is called; "unknown" where it has no name.
std::string host_name();

}  // namespace mangrove
