#include "mangrove/job/machine.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/control_group.h"
#include "mangrove/base/host_name.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/base/process_memory.h"

namespace mangrove::job {
namespace {

/// As /proc/cpuinfo has it: the board's name where it says that, else its processor's.
std::string processor(const fs::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  std::string found;
  for (std::string line; std::getline(file, line);)
    for (const std::string_view key : {"model name", "Model", "Hardware", "cpu model", "uarch"})
      if (line.starts_with(key) && (found.empty() || key == "Model"))
        found = line.substr(std::min(line.size(), line.find(':') + 1));
  return found;
}

}  // namespace

std::string Machine::host() const {
  const std::vector<OwnControlGroup> groups = control_groups("cpu", root_);
  return cpu_limit(root_) < cores() && !groups.empty() ? host_name() + groups.front().folder.string() : host_name();
}

std::string Machine::description() const {
  return fmt::format("{},{}, {:.6g} cores", host_name(), processor(root_), cpu_share());
}

int Machine::cores() const {
  return machine_cores();
}

double Machine::cpu_share() const {
  return part_ * cpu_limit(root_);
}

Seconds Machine::computed() const {
  return process_cpu_time();
}

Seconds Machine::computed_by_thread() const {
  return thread_cpu_time();
}

Seconds Machine::rationed() const {
  return rationed_time();
}

Bytes Machine::memory() const {
  return part_ < 1 ? static_cast<Bytes>(part_ * static_cast<double>(memory_limit(root_))) : memory_limit(root_);
}

Bytes Machine::resident_memory() const {
  return mangrove::resident_memory();
}

Bytes Machine::needed_memory() const {
  return mangrove::needed_memory();
}

void Machine::release_freed_memory() {
  mangrove::release_freed_memory();
}

Bytes Machine::peak_memory(Bytes) const {
  return peak_resident_memory();
}

/// From the kernel's generator, which is safe for keys too: getrandom(2).
bool Machine::fill_secret(std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    MG_CHECK_MSG(got > 0 || errno == EINTR, "the system gives no random bytes");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace mangrove::job
