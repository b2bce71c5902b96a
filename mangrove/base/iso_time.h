#pragma once

#include <chrono>
#include <string>

namespace mangrove {

/// A time of the calendar in UTC, as lines of logs have it: "2026-11-24T15:04:05Z".
std::string to_iso_text(std::chrono::sys_seconds time);

}  // namespace mangrove
