#pragma once

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove {

/// The cores of this machine, and those of them that this process may run on (its affinity); at least 1.
int machine_cores();
int usable_cores();

/// How many cores' worth of time this process may use: those that it may run on, and at most the quotas of its control
/// groups (v1 and v2, of every level above it): 0.18 with a quota of 18 ms in 100. `root`: where /proc and /sys are,
/// for tests.
double cpu_limit(const fs::path& root = "/");

/// That the calling thread, or all threads of this process, have computed. Time that others got is not in it.
Seconds thread_cpu_time();
Seconds process_cpu_time();

/// The time that this process needs for what it has computed, where it may use less than a core, as of the first call:
/// something short that follows a pause takes less, as there is still quota. 0 where it may use more.
Seconds rationed_time();

/// Gives the calling thread, and the threads that it starts from now on, this part of the time that it would get beside
/// other threads; more than 0, at most 1. It gets more where the others do not use theirs. The part is kept to a tenth
/// or so, by the thread's nice value; it cannot be raised again.
void weigh_thread(double part);

}  // namespace mangrove
