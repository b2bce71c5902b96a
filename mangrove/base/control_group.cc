#include "mangrove/base/control_group.h"

#include <fstream>
#include <string>

namespace mangrove {
namespace {

/// The group at `path` and those above it.
void add_groups(int version, const fs::path& mount, const fs::path& path, std::vector<OwnControlGroup>& groups) {
  for (fs::path group = path.relative_path();; group = group.parent_path()) {
    groups.push_back({version, mount / group});
    if (group.empty()) return;
  }
}

}  // namespace

std::vector<OwnControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<OwnControlGroup> groups;
  std::ifstream own(root / "proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {  // "0::/path" in version 2, "9:memory:/path" in version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      add_groups(2, root / "sys/fs/cgroup", path, groups);
    } else if (("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos) {
      add_groups(1, root / "sys/fs/cgroup" / controller, path, groups);
    }
  }
  return groups;
}

}  // namespace mangrove
