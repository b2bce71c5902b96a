#include "mangrove/cluster/host.h"

#include <fstream>

#include "mangrove/base/host_name.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"

namespace mangrove::cluster {

Host describe_host() {
  Host host;
  host.name = host_name();
  // machines cloned from one image have equal names; their boots differ
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  host.identity = host.name + "/" + boot;
  host.cores = usable_cores();
  host.memory = memory_limit();
  return host;
}

}  // namespace mangrove::cluster
