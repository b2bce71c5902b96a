#pragma once

#include <optional>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove {

/// The files that the machine's temperature sensors are read from. root: where /sys is, for tests.
std::vector<fs::path> temperature_sensors(const fs::path& root = "/");

/// Returns what the hottest of the sensors reads, in degrees Celsius; nullopt where none has a plausible reading.
std::optional<double> hottest_reading(const std::vector<fs::path>& sensors);

}  // namespace mangrove
