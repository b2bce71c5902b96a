#include "mangrove/job/machine.h"

#include <vector>

#include "mangrove/base/control_group.h"
#include "mangrove/base/host_name.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"

namespace mangrove::job {

std::string Machine::host() const {
  const std::vector<OwnControlGroup> groups = control_groups("cpu");
  return cpu_share() < cores() && !groups.empty() ? host_name() + groups.front().folder.string() : host_name();
}

int Machine::cores() const {
  return machine_cores();
}

double Machine::cpu_share() const {
  return cpu_limit();
}

Seconds Machine::computed() const {
  return process_cpu_time();
}

Seconds Machine::rationed() const {
  return rationed_time();
}

Bytes Machine::resident_memory() const {
  return mangrove::resident_memory();
}

Bytes Machine::peak_memory(Bytes) const {
  return peak_resident_memory();
}

}  // namespace mangrove::job
