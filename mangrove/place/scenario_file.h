#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/place/scenario.h"

namespace mangrove::place {

/// Reads a scenario (YAML). docs/placement.md lists its sections and keys. The services of the result have no circles,
/// and devices, links and licences that they name are there.
/// errors: not_found; invalid_argument (unknown section, key or name, with the nearest known one; a value that does not
/// fit; too many devices, links, tasks or flows; a circle of flows). The message names the file and the line.
Result<Scenario> load_scenario(const fs::path& path);
/// The same of what was read there already. errors: invalid_argument.
Result<Scenario> parse_scenario(const std::string& text, const fs::path& path);

}  // namespace mangrove::place
