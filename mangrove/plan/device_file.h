#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// A device of a device file.
struct ListedDevice {
  Device device;        // without times
  double speed = 1;     // as a multiple of the speed of the profile's device
  std::string profile;  // file with a profile of its own; empty: the common profile
};

struct DeviceFile {
  std::vector<ListedDevice> devices;
  std::map<std::pair<std::size_t, std::size_t>, Way> ways;
};

/// Reads a device file (YAML). It has a section for each kind of device, and "NAME - NAME" for the ways between the
/// devices of two kinds, or of one. Keys outside sections hold for every kind. docs/planning.md lists the keys.
/// Profiles are looked for in the folder of the file. errors: not_found; invalid_argument (unknown key or kind, with
/// the nearest known one; a value that does not fit; more than kMostDevices). The message names the file and the line.
Result<DeviceFile> load_devices(const fs::path& path);

constexpr std::size_t kMostDevices = 1000;

}  // namespace mangrove::plan
