#include "mangrove/cluster/resource_monitor.h"

#include <time.h>

#include "mangrove/base/process_memory.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kShortest = 0.05;  // a share of less time than this is mostly noise

Seconds process_cpu_time() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

ResourceMonitor::ResourceMonitor(const Clock& clock) : clock_(clock), sampled_(clock.now()), cpu_(process_cpu_time()) {}

ProcessUse ResourceMonitor::sample() {
  const Instant now = clock_.now();
  if (now - sampled_ >= kShortest) {
    const Seconds cpu = process_cpu_time();
    percent_ = 100 * (cpu - cpu_) / (now - sampled_);
    sampled_ = now;
    cpu_ = cpu;
  }
  return {percent_, resident_memory()};
}

}  // namespace mangrove::cluster
