#include "mangrove/cluster/host.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "mangrove/base/host_name.h"
#include "mangrove/base/process_memory.h"

namespace mangrove::cluster {

Host describe_host() {
  Host host;
  host.name = host_name();
  // machines cloned from one image have equal names; their boots differ
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  host.identity = host.name + "/" + boot;
  host.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  host.memory = memory_limit();
  return host;
}

}  // namespace mangrove::cluster
