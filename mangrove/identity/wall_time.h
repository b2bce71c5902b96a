#pragma once

#include <chrono>
#include <string>

namespace mangrove::identity {

/// What a calendar shows, in UTC: certificates begin and end by it, on every machine.
using WallTime = std::chrono::sys_seconds;

WallTime wall_now();
/// 2026-11-24 15:04 UTC
std::string to_text(WallTime time);

}  // namespace mangrove::identity
