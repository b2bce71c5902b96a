#include "mangrove/base/process_cpu.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "mangrove/base/control_group.h"

namespace mangrove {
namespace {

/// Quota over period, in microseconds; nothing: no limit. Version 1 writes -1 for none, version 2 "max".
std::optional<double> quota_of(const OwnControlGroup& group) {
  double quota = 0, period = 0;
  if (group.version == 2) {
    std::ifstream(group.folder / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(group.folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return {};
  return quota / period;
}

Seconds time_of(clockid_t clock) {
  timespec spent{};
  clock_gettime(clock, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

int machine_cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return machine_cores();
}

double cpu_limit(const fs::path& root) {
  double least = usable_cores();
  for (const OwnControlGroup& group : control_groups("cpu", root))
    if (const auto quota = quota_of(group)) least = std::min(least, *quota);
  return least;
}

Seconds thread_cpu_time() {
  return time_of(CLOCK_THREAD_CPUTIME_ID);
}

Seconds process_cpu_time() {
  return time_of(CLOCK_PROCESS_CPUTIME_ID);
}

Seconds rationed_time() {
  static const double limit = cpu_limit();
  return limit < 1 ? process_cpu_time() / limit : 0;
}

/// A step of the nice value is a factor of 1.25 (sched(7)). Linux has one for each thread.
void weigh_thread(double part) {
  const int steps = static_cast<int>(std::lround(std::log(1 / part) / std::log(1.25)));
  if (steps > 0) setpriority(PRIO_PROCESS, 0, std::min(getpriority(PRIO_PROCESS, 0) + steps, 19));
}

}  // namespace mangrove
