#pragma once

#include <chrono>
#include <string>

namespace mangrove::identity {

/// A time of the calendar, in UTC, whole seconds. Certificates begin and end by it.
using WallTime = std::chrono::sys_seconds;

WallTime wall_now();
/// A text like "2026-11-24 15:04 UTC".
std::string to_text(WallTime time);

}  // namespace mangrove::identity
