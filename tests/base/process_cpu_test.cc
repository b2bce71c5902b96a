#include "mangrove/base/process_cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <thread>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/clock.h"

namespace mangrove {
namespace {

using testing::TemporaryFolder;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(CpuLimit, IsWhatTheMachineHasWithoutQuotas) {
  const TemporaryFolder empty;
  EXPECT_GE(cpu_limit(empty.path()), 1);
  EXPECT_LE(cpu_limit(empty.path()), machine_cores());
}

TEST(CpuLimit, IsAtMostTheCoresToRunOn) {
  const TemporaryFolder empty;
  std::thread([&] {  // pinned, and then gone
    cpu_set_t allowed, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (std::size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &allowed)) CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
    EXPECT_EQ(cpu_limit(empty.path()), 1);
  })
      .join();
}

TEST(CpuLimit, IsTheLeastQuotaOfTheGroupAndThoseAboveIt) {
  const TemporaryFolder root;
  write(root / "proc/self/cgroup", "0::/boards/pi-1\n");
  write(root / "sys/fs/cgroup/boards/pi-1/cpu.max", "max 100000\n");
  write(root / "sys/fs/cgroup/boards/cpu.max", "3600 20000\n");
  EXPECT_DOUBLE_EQ(cpu_limit(root.path()), 0.18);
  write(root / "sys/fs/cgroup/boards/pi-1/cpu.max", "10000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_limit(root.path()), 0.1);
}

TEST(CpuLimit, KnowsVersionOne) {
  const TemporaryFolder root;
  write(root / "proc/self/cgroup", "3:cpu,cpuacct:/pi-1\n");
  write(root / "sys/fs/cgroup/cpu/pi-1/cpu.cfs_quota_us", "25000\n");
  write(root / "sys/fs/cgroup/cpu/pi-1/cpu.cfs_period_us", "100000\n");
  write(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cpu_limit(root.path()), 0.25);
}

TEST(CpuTime, PassesWhileAThreadComputesAndNotWhileItSleeps) {
  const Seconds process = process_cpu_time(),
                thread = thread_cpu_time();  // in this order: all that the thread does counts
  double sum = 0;
  while (thread_cpu_time() - thread < 0.01) sum += 1;
  EXPECT_GE(process_cpu_time() - process, 0.01);
  const Seconds before = thread_cpu_time();
  SteadyClock clock;
  clock.sleep_until(clock.after(0.05));
  EXPECT_LT(thread_cpu_time() - before, 0.05);
  if (cpu_limit() < 1) {
    EXPECT_GT(rationed_time(), process_cpu_time());
  } else {
    EXPECT_EQ(rationed_time(), 0);
  }
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace mangrove
