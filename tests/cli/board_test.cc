#include "mangrove/cli/board.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove::cli {
namespace {

/// A made-up /proc, /sys and /etc.
class MadeUpBoard : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }

  /// As a Raspberry Pi 4 has it.
  void write_pi() const {
    std::string cpuinfo;
    for (int core = 0; core < 4; ++core)
      cpuinfo += "processor\t: " + std::to_string(core) +
                 "\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\nCPU implementer\t: 0x41\n"
                 "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n\n";
    write("proc/cpuinfo", cpuinfo + "Serial\t\t: 10000000abcdef01\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n");
    write("proc/device-tree/model", std::string("Raspberry Pi 4 Model B Rev 1.4\0", 31));
    write("proc/meminfo", "MemTotal:        3884376 kB\n");
    write("proc/loadavg", "0.52 0.58 0.59 1/189 2345\n");
    write("proc/sys/kernel/osrelease", "6.1.21-v8+\n");
    write("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");
    write("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "1800000\n");
    write("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand\n");
    write("sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "cpufreq-dt\n");
    write("sys/class/thermal/thermal_zone0/temp", "48686\n");
    write_throttling("0");
  }
  void write_throttling(const std::string& bits) const {
    write("sys/devices/platform/soc/soc:firmware/get_throttled", bits + "\n");
  }

  const testing::TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST_F(MadeUpBoard, OfARaspberryPi) {
  write_pi();
  const Board board = read_board(root_);
  EXPECT_EQ(board.model, "Raspberry Pi 4 Model B Rev 1.4");
  EXPECT_EQ(board.processor, "Cortex-A72");
  EXPECT_EQ(board.features, std::vector<std::string>{"asimd"});
  EXPECT_EQ(board.max_clock_hz, 1.8e9);
  EXPECT_EQ(board.governor, "ondemand");
  EXPECT_EQ(board.clock_driver, "cpufreq-dt");
  EXPECT_EQ(board.memory, Bytes{3884376} * 1024);
  EXPECT_EQ(board.kernel, "6.1.21-v8+");
  EXPECT_EQ(board.operating_system, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(load_average(root_), 0.52);
  EXPECT_EQ(read_board_state(root_).temperature_c, 48.686);
}

TEST_F(MadeUpBoard, WithCoresOfTwoKindsAndADeviceTreeWithAddresses) {
  write("proc/cpuinfo",
        "CPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"
        "CPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\nCPU implementer\t: 0x41\nCPU part\t: 0xfff\n");
  write("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "1800000\n");
  write("sys/devices/system/cpu/cpufreq/policy4/cpuinfo_max_freq", "2400000\n");
  write("sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled", "0x20002\n");
  const Board board = read_board(root_);
  EXPECT_EQ(board.processor, "Cortex-A55 + Cortex-A76 + Arm part 0xfff");
  EXPECT_EQ(board.max_clock_hz, 2.4e9);
  EXPECT_EQ(read_board_state(root_).firmware_bits, 0x20002U);
}

TEST_F(MadeUpBoard, OfAPc) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse4_1 avx2 fma rdrand avx512f\n\n"
        "processor\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse4_1 avx2 fma rdrand avx512f\n");
  write("sys/class/dmi/id/product_name", "HAL 9000\n");
  write("sys/class/dmi/id/product_serial", "SECRET-SERIAL\n");
  write("usr/lib/os-release", "PRETTY_NAME='Fedora'\n");
  const Board board = read_board(root_);
  EXPECT_EQ(board.model, "HAL 9000");
  EXPECT_EQ(board.processor, "AMD EPYC");
  EXPECT_EQ(board.features, (std::vector<std::string>{"sse4_1", "avx2", "fma", "avx512f"}));
  EXPECT_EQ(board.operating_system, "Fedora");
}

TEST_F(MadeUpBoard, ThatSaysNothing) {
  const Board board = read_board(root_ / "nowhere");
  EXPECT_FALSE(board.model || board.processor || board.max_clock_hz || board.governor || board.clock_driver ||
               board.memory || board.kernel || board.operating_system);
  EXPECT_TRUE(board.features.empty());
  EXPECT_GE(board.cores, 1);
  EXPECT_GT(board.usable_cores, 0);
  EXPECT_FALSE(board.architecture.empty());
  const BoardState state = read_board_state(root_ / "nowhere");
  EXPECT_FALSE(state.temperature_c || state.firmware_bits || state.is_cooled);
  EXPECT_EQ(throttling(state, state), std::nullopt);
  EXPECT_EQ(load_average(root_ / "nowhere"), std::nullopt);
}

TEST_F(MadeUpBoard, WithHostileContent) {
  const std::string binary("\x01\xff\0\x7f\x80 :\n", 8), endless(1 << 20, 'x');
  for (const std::string& text : {binary, endless, std::string("model name: ") + endless, "model name:" + binary}) {
    for (const char* path :
         {"proc/cpuinfo", "proc/device-tree/model", "proc/loadavg", "proc/sys/kernel/osrelease", "etc/os-release",
          "sys/class/dmi/id/product_name", "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
          "sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "sys/class/thermal/thermal_zone0/temp",
          "sys/class/thermal/cooling_device0/type", "sys/devices/platform/soc/soc:firmware/get_throttled"})
      write(path, text);
    const Board board = read_board(root_);
    EXPECT_FALSE(board.model || board.processor || board.max_clock_hz || board.governor || board.kernel ||
                 board.operating_system);
    EXPECT_TRUE(board.features.empty());
    const BoardState state = read_board_state(root_);
    EXPECT_FALSE(state.temperature_c || state.firmware_bits || state.is_cooled);
    EXPECT_EQ(load_average(root_), std::nullopt);
  }
}

TEST_F(MadeUpBoard, HasAFolderWhereAFileShouldBe) {
  fs::create_directories(root_ / "proc/cpuinfo");
  fs::create_directories(root_ / "proc/device-tree/model");
  EXPECT_FALSE(read_board(root_).model || read_board(root_).processor);
}

TEST_F(MadeUpBoard, ZonesWithoutASensorDoNotCount) {
  write("sys/class/thermal/thermal_zone0/temp", "-274000\n");
  EXPECT_EQ(read_board_state(root_).temperature_c, std::nullopt);
  write("sys/class/thermal/thermal_zone1/temp", "51000\n");
  write("sys/class/thermal/thermal_zone2/temp", "63500\n");
  EXPECT_EQ(read_board_state(root_).temperature_c, 63.5);
}

TEST_F(MadeUpBoard, SaysWhyItsClockIsLower) {
  using Reasons = std::vector<std::string>;
  write_throttling("0");
  const BoardState never = read_board_state(root_);
  EXPECT_EQ(throttling(never, never), Reasons());
  write_throttling("50000");  // long ago
  const BoardState before = read_board_state(root_);
  EXPECT_EQ(throttling(before, before), std::nullopt) << "it may have happened again";
  write_throttling("70000");  // in between, and over by now
  EXPECT_EQ(throttling(before, read_board_state(root_)), Reasons{"clock_capped"});
  write_throttling("d0008");
  EXPECT_EQ(throttling(before, read_board_state(root_)), Reasons{"temperature_limit"});
  write_throttling("50005");
  EXPECT_EQ(throttling(before, read_board_state(root_)), (Reasons{"under_voltage", "throttled"}));
}

TEST_F(MadeUpBoard, SaysThatTheKernelCoolsIt) {
  write("sys/class/thermal/cooling_device0/type", "pwm-fan\n");
  write("sys/class/thermal/cooling_device0/cur_state", "3\n");
  EXPECT_EQ(read_board_state(root_).is_cooled, std::nullopt) << "a fan does not lower the clock";
  write("sys/class/thermal/cooling_device1/type", "thermal-cpufreq-0\n");
  write("sys/class/thermal/cooling_device1/cur_state", "0\n");
  const BoardState before = read_board_state(root_);
  EXPECT_EQ(throttling(before, before), std::vector<std::string>());
  write("sys/class/thermal/cooling_device1/cur_state", "2\n");
  EXPECT_EQ(throttling(before, read_board_state(root_)), std::vector<std::string>{"cooling"});
}

}  // namespace
}  // namespace mangrove::cli
