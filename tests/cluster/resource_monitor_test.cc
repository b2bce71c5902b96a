#include "mangrove/cluster/resource_monitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <numeric>

#include "tests/base/hand_clock.h"
#include "tests/base/temporary_folder.h"

namespace mangrove::cluster {
namespace {

// A made-up /proc and /sys.
struct MonitoredMachine : ::testing::Test {
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  ProcessUse sample_after(Seconds seconds) {
    clock.pass(seconds);
    return monitor->sample();
  }

  const mangrove::testing::TemporaryFolder folder;
  const fs::path root = folder.path();
  testing::HandClock clock;
  std::unique_ptr<ResourceMonitor> monitor;
};

TEST(ResourceMonitor, MeasuresABusyThread) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const Deadline end = clock.after(0.2);
  while (clock.now() < end) {
  }
  const ProcessUse busy = monitor.sample();
  EXPECT_GT(busy.cpu_percent, 10) << "a busy loop, even on a machine with much else to do";
  EXPECT_LT(busy.cpu_percent, 100.0 * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) + 50);
  EXPECT_GT(busy.rss_bytes, MiB(1));
}

TEST(ResourceMonitor, SeesMemoryThatIsTouched) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const Bytes before = monitor.sample().rss_bytes;
  const auto size = static_cast<std::size_t>(MiB(32));
  const auto touched = std::make_unique<volatile char[]>(size);  // volatile: the compiler must not leave it out
  for (std::size_t i = 0; i < size; i += 1024) touched[i] = 1;
  EXPECT_GE(monitor.sample().rss_bytes - before, MiB(24));
}

TEST(ResourceMonitor, CountsThePagesThatAreTouched) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const ProcessUse before = monitor.sample();
  const auto size = static_cast<std::size_t>(MiB(32));
  const auto touched = std::make_unique_for_overwrite<volatile char[]>(size);
  for (std::size_t i = 0; i < size; i += 4096) touched[i] = 1;
  EXPECT_GT(monitor.sample().minor_faults, before.minor_faults);
}

TEST(ResourceMonitor, SeesTheCoreOfABusyLoop) {
  const SteadyClock clock;
  ResourceMonitor monitor(clock);
  const Deadline end = clock.after(0.5);
  while (clock.now() < end) {
  }
  const ProcessUse use = monitor.sample();
  if (use.core_percent.empty()) GTEST_SKIP() << "this system has no /proc/stat";
  EXPECT_GT(std::accumulate(use.core_percent.begin(), use.core_percent.end(), 0.0F), 10);
  for (const float core : use.core_percent) {
    EXPECT_GE(core, 0);
    EXPECT_LE(core, 100);
  }
}

TEST_F(MonitoredMachine, CoresAreThoseThatTheProcessMayUse) {
  write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-2\nMems_allowed_list:\t0\n");
  write("proc/stat",
        "cpu  1 1 1 1\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 50 1000 10 0 0 0 0 0\ncpu2 5 5 5 5 5 5 5 5 0 0\n"
        "intr 1 2 3\n");
  monitor = std::make_unique<ResourceMonitor>(clock, root);
  write("proc/stat",
        "cpu  9 9 9 9\ncpu0 900 0 0 0 0 0 0 0 0 0\ncpu1 120 0 60 1050 20 0 0 10 90 0\ncpu2 5 5 5 5 5 5 5 5 0 0\n");
  const ProcessUse use = sample_after(1);
  ASSERT_EQ(use.core_percent.size(), 2u) << "core 0 is another's";
  EXPECT_FLOAT_EQ(use.core_percent[0], 40) << "20 user, 10 system and 10 stolen ticks of 100; a guest's are the user's";
  EXPECT_FLOAT_EQ(use.core_percent[1], 0) << "its counters stand still";
}

TEST_F(MonitoredMachine, AnotherSetOfCoresBeginsAnew) {
  write("proc/self/status", "Cpus_allowed_list:\t0\n");
  write("proc/stat", "cpu0 10 0 0 10 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0\n");
  monitor = std::make_unique<ResourceMonitor>(clock, root);
  write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
  EXPECT_TRUE(sample_after(1).core_percent.empty());
  write("proc/stat", "cpu0 10 0 0 20 0 0 0 0\ncpu1 5 0 0 105 0 0 0 0\n");
  const ProcessUse use = sample_after(1);
  ASSERT_EQ(use.core_percent.size(), 2u);
  EXPECT_FLOAT_EQ(use.core_percent[1], 50);
}

TEST_F(MonitoredMachine, TemperatureIsThatOfTheHottestSensor) {
  write("sys/class/thermal/thermal_zone0/temp", "48312\n");
  write("sys/class/thermal/thermal_zone1/temp", "61500\n");
  write("sys/class/thermal/thermal_zone2/temp", "-274000\n");  // as a sensor that is switched off says
  write("sys/class/thermal/thermal_zone3/temp", "no number\n");
  write("sys/class/thermal/cooling_device0/temp", "99000\n");
  monitor = std::make_unique<ResourceMonitor>(clock, root);
  EXPECT_DOUBLE_EQ(monitor->sample().temperature_c.value(), 61.5);
}

TEST_F(MonitoredMachine, WhatTheSystemDoesNotSayIsLeftOut) {
  monitor = std::make_unique<ResourceMonitor>(clock, root / "nowhere");
  const ProcessUse use = sample_after(1);
  EXPECT_TRUE(use.core_percent.empty());
  EXPECT_FALSE(use.temperature_c.has_value());
}

TEST(CoreList, IsReadAsTheKernelWritesIt) {
  EXPECT_EQ(parse_core_list("0"), std::vector<int>{0});
  EXPECT_EQ(parse_core_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  for (const char* text : {"", "a", "1-", "-1", "3-2", "1;2", "0-99999999"})
    EXPECT_TRUE(parse_core_list(text).empty()) << text;
}

}  // namespace
}  // namespace mangrove::cluster
