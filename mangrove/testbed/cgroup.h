#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::testbed {

/// Where the kernel takes limits of one kind.
struct Hierarchy {
  int version = 0;  // of the control groups: 1 or 2; 0: there is none for this controller
  fs::path mount;
};

/// The hierarchies of the controllers "cpu" and "memory". On many systems both are the one of version 2; each may
/// also have one of version 1 of its own.
struct Hierarchies {
  Hierarchy cpu;
  Hierarchy memory;

  static Hierarchies of_this_machine();
  /// `mounts` as in /proc/self/mounts. Which controllers a mount of version 2 has is read from its files.
  static Hierarchies parse(std::string_view mounts);
};

/// A control group that limits the processes in it: for one controller, of one board.
/// path: MOUNT/GROUP/BOARD, e.g. /sys/fs/cgroup/mangrove-testbed-0/pi-1.
class ControlGroup {
 public:
  ControlGroup(Hierarchy hierarchy, const std::string& group, const std::string& board)
      : hierarchy_(std::move(hierarchy)), path_(hierarchy_.mount / group / board) {}
  /// One that is there.
  ControlGroup(Hierarchy hierarchy, fs::path path) : hierarchy_(std::move(hierarchy)), path_(std::move(path)) {}

  /// Makes the group, empty, and its parent. errors: permission_denied, unavailable (no such controller here).
  Status create(const std::string& controller) const;
  /// At most `share` of a core in each period of 20 ms. errors: as create().
  Status limit_cpu(double share) const;
  /// More memory than this kills a process of the group; nothing is swapped out. errors: as create().
  Status limit_memory(Bytes bytes) const;

  /// What the kernel says is set; nothing where there is no limit.
  std::optional<double> cpu_limit() const;
  std::optional<Bytes> memory_limit() const;
  /// Memory that its processes take now.
  std::optional<Bytes> memory_use() const;

  const fs::path& path() const { return path_; }

 private:
  Hierarchy hierarchy_;
  fs::path path_;
};

/// The groups directly below the mounts whose names begin with `prefix`.
std::vector<fs::path> find_groups(const Hierarchies& hierarchies, const std::string& prefix);
/// Kills the processes in the group and those below it, and removes them all.
/// errors: deadline_exceeded (a process does not die within 10 s), permission_denied.
Status remove_group(const fs::path& group);

}  // namespace mangrove::testbed
