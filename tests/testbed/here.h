#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "mangrove/testbed/cgroup.h"
#include "mangrove/testbed/network.h"
#include "mangrove/testbed/relay.h"
#include "mangrove/testbed/slot.h"
#include "mangrove/testbed/tool.h"

namespace mangrove::testbed {

/// Why this machine does not let us make control groups with limits: "" where it does. A test that needs them is
/// skipped with this reason.
inline std::string why_no_groups() {
  const Hierarchies hierarchies = Hierarchies::of_this_machine();
  const std::string name = "mangrove-probe-" + std::to_string(getpid());
  const ControlGroup cpu(hierarchies.cpu, name, "pi"), memory(hierarchies.memory, name, "pi");
  Status status = cpu.create("cpu");
  if (status.ok()) status = cpu.limit_cpu(1);
  if (status.ok()) status = memory.create("memory");
  if (status.ok()) status = memory.limit_memory(MiB(64));
  for (const fs::path& group : find_groups(hierarchies, name)) (void)remove_group(group).ok();
  return status.ok() ? "" : "control groups: " + status.error().message;
}

/// Why it does not let us make namespaces and links with a rate.
inline std::string why_no_links() {
  const std::string name = "mgprobe" + std::to_string(getpid() % 100000), bridge = name + "b", port = name + "p";
  std::string reason;
  for (const std::string& command : {"ip netns add " + name, "ip link add name " + bridge + " type bridge",
                                     "ip link add name " + port + " type veth peer name eth0 netns " + name,
                                     "ip link set " + port + " master " + bridge,
                                     "tc qdisc add dev " + port + " root tbf rate 1mbit burst 3000 limit 9000"})
    if (const auto done = run_tool(command); !done.ok()) {
      reason = "network namespaces and links: " + done.error().message;
      break;
    }
  for (const std::string& command : {"ip link del " + port, "ip link del " + bridge, "ip netns del " + name})
    (void)run_tool(command).ok();
  return reason;
}

/// Why it does not let us make links with delay.
inline std::string why_no_relays() {
  if (const std::string reason = why_no_links(); !reason.empty()) return reason;
  const auto tap = open_tap("mgprobe" + std::to_string(getpid() % 100000));
  return tap.ok() ? "" : tap.error().message;
}

/// Held by a test that looks at what is left of a testbed: its name may be another test's the moment after.
class MachineLock {
 public:
  MachineLock() : folder_(open(fs::temp_directory_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    flock(folder_.get(), LOCK_EX);
  }

 private:
  Descriptor folder_;
};

/// Nothing of this slot is left on the machine.
inline ::testing::AssertionResult is_gone(int slot) {
  for (const fs::path& group : find_groups(Hierarchies::of_this_machine(), group_name(slot)))
    if (group.filename() == group_name(slot)) return ::testing::AssertionFailure() << group;
  const auto remains = find_network(slot);
  if (!remains.ok()) return ::testing::AssertionFailure() << remains.error().message;
  if (!remains->empty())
    return ::testing::AssertionFailure() << remains->namespaces.size() << " namespaces, " << remains->devices.size()
                                         << " devices";
  for (const Record& record : all_records())
    if (record.slot == slot) return ::testing::AssertionFailure() << "record";
  return ::testing::AssertionSuccess();
}

}  // namespace mangrove::testbed
