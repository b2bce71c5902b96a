#pragma once

#include <span>
#include <string>

namespace mangrove {

/// The backends that builds can have, the fastest first: for texts that are the same in every build. Those of this one:
/// backend_names().
std::span<const std::string> known_backends();
/// What a flag says that takes the name of one.
std::string backend_help();

}  // namespace mangrove
