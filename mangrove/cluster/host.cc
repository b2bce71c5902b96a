#include "mangrove/cluster/host.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "mangrove/base/process_memory.h"

namespace mangrove::cluster {

Host describe_host() {
  Host host;
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == 0) host.name = name;
  if (host.name.empty()) host.name = "node";
  // machines cloned from one image have equal names; their boots differ
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  host.identity = host.name + "/" + boot;
  host.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  host.memory = memory_limit();
  return host;
}

}  // namespace mangrove::cluster
