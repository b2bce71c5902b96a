#include "mangrove/job/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <vector>

#include "tests/base/temporary_folder.h"

namespace mangrove::job {
namespace {

using mangrove::testing::TemporaryFolder;

/// A made-up /proc and /sys.
class OnAMachine : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((folder_ / path.string()).parent_path());
    std::ofstream(folder_ / path.string()) << text;
  }
  Machine machine() const { return Machine(folder_.path()); }

 private:
  const TemporaryFolder folder_;
};

TEST_F(OnAMachine, IsDescribedByItsProcessorOrItsBoard) {
  write("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: EPYC 9\nmodel name\t: EPYC 9\n");
  const std::string pc = machine().description();
  EXPECT_NE(pc.find(", EPYC 9, "), std::string::npos) << pc;
  EXPECT_EQ(machine().description(), pc);
  write("proc/cpuinfo", "model name\t: ARMv7\nHardware\t: BCM2711\nModel\t\t: Raspberry Pi 4 Model B\n");
  const std::string pi = machine().description();
  EXPECT_NE(pi.find(", Raspberry Pi 4 Model B, "), std::string::npos) << pi;
}

TEST_F(OnAMachine, ItsQuotasCount) {
  const std::string shared = machine().host();
  EXPECT_EQ(machine().slowdown(1), 1);
  write("proc/self/cgroup", "0::/boards/pi-1\n");
  write("sys/fs/cgroup/boards/pi-1/cpu.max", "20000 100000\n");
  EXPECT_DOUBLE_EQ(machine().cpu_share(), 0.2);
  EXPECT_DOUBLE_EQ(machine().slowdown(1), 5);
  EXPECT_TRUE(machine().description().ends_with(", 0.2 cores")) << machine().description();
  EXPECT_NE(machine().host(), shared) << "its cores are nobody else's";
}

TEST_F(OnAMachine, AJobThatSaysNothingLeavesSomeMemoryToOthers) {
  EXPECT_EQ(machine().memory(), 0) << "not known";
  EXPECT_EQ(machine().usual_memory(), 0);
  write("proc/meminfo", "MemTotal:       1024000 kB\n");
  EXPECT_EQ(machine().memory(), 1'048'576'000);
  EXPECT_EQ(machine().usual_memory(), 943'718'400);
}

TEST_F(OnAMachine, ItsSecretsAreNeverTheSame) {
  std::set<std::array<std::byte, 8>> seen;
  for (int i = 0; i < 100; ++i) {
    std::array<std::byte, 8> bytes{};
    EXPECT_TRUE(machine().fill_secret(bytes));
    EXPECT_TRUE(seen.insert(bytes).second);
  }
  std::vector<std::byte> large(1 << 20);
  EXPECT_TRUE(machine().fill_secret(large));
  EXPECT_EQ(std::set<std::byte>(large.end() - 20000, large.end()).size(), 256u);
}

}  // namespace
}  // namespace mangrove::job
