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
  double speed = 1;     // times that of the profile's device
  std::string profile;  // file of its own profile; empty: the common one
};

struct DeviceFile {
  std::vector<ListedDevice> devices;
  std::map<std::pair<std::size_t, std::size_t>, Way> ways;
};

/// A device file, YAML: a section for each kind of device, "NAME - NAME" for ways between the devices of two kinds, or
/// of one; keys outside sections hold for every kind. docs/planning.md lists the keys. Profiles are looked for beside
/// the file. errors: not_found; invalid_argument (unknown key or kind, with the nearest known one; a value that does
/// not fit; more than kMostDevices; names file and line).
Result<DeviceFile> load_devices(const fs::path& path);

constexpr std::size_t kMostDevices = 1000;

}  // namespace mangrove::plan
