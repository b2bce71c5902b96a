#pragma once

#include <string_view>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove {

/// A control group that this process is in.
struct OwnControlGroup {
  int version = 2;  // 1 or 2: its files have other names
  fs::path folder;
};

/// The groups that limit this process by a controller ("memory", "cpu"): its own and those above it, of version 1 and
/// 2. Empty where the system does not say. `root`: where /proc and /sys are, for tests.
std::vector<OwnControlGroup> control_groups(std::string_view controller, const fs::path& root = "/");

}  // namespace mangrove
