#include "mangrove/base/process_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/base/temporary_folder.h"

namespace mangrove {
namespace {

// A made-up /proc and /sys.
class MemoryLimit : public ::testing::Test {
 protected:
  void SetUp() override { write("proc/meminfo", "MemTotal:       1024000 kB\nMemFree:  5 kB\n"); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  const testing::TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST_F(MemoryLimit, IsTheMachineWithoutGroups) {
  EXPECT_EQ(memory_limit(root_), 1024000 * Bytes{1024});
}

TEST_F(MemoryLimit, IsTheLeastOfAllLevelsInVersionTwo) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/memory.max", "268435456\n");
  EXPECT_EQ(memory_limit(root_), 268435456);
}

TEST_F(MemoryLimit, IsOfTheMemoryControllerInVersionOne) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/a\n9:hugetlb,memory:/board\n");
  write("sys/fs/cgroup/memory/board/memory.limit_in_bytes", "134217728\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(root_), 134217728);
}

TEST_F(MemoryLimit, IgnoresALimitAboveTheMachine) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "999999999999999\n");
  EXPECT_EQ(memory_limit(root_), 1024000 * Bytes{1024});
}

TEST_F(MemoryLimit, IsUnknownWithoutProc) {
  EXPECT_EQ(memory_limit(root_ / "nowhere"), 0);
}

TEST(ProcessMemory, GrowsWithWhatIsTouched) {
  const Bytes before = resident_memory();
  ASSERT_GT(before, 0);
  constexpr std::size_t kSize = 64 << 20;
  const auto block = std::make_unique_for_overwrite<char[]>(kSize);
  std::memset(block.get(), 1, kSize);
  const Bytes after = resident_memory();
  EXPECT_GE(after, before + Bytes{60} * (1 << 20));
  EXPECT_GE(peak_resident_memory(), after);
  EXPECT_NE(block[kSize / 2], 0);
}

TEST(ProcessMemory, PagesThatAreTakenKeepWhatTheyHold) {
  std::vector<std::byte> block(100'000, std::byte{1});
  take_pages(std::span(block).subspan(1, 50'000));
  take_pages(std::span(block).subspan(7, 5));  // no whole page
  take_pages({});
  EXPECT_TRUE(std::ranges::all_of(block, [](std::byte b) { return b == std::byte{1}; }));
}

TEST(ProcessMemory, GrowsByPagesThatAreTaken) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs
  if (std::getenv("MANGROVE_EMULATED") != nullptr) GTEST_SKIP() << "an emulator takes memory as it likes";
  constexpr std::size_t kSize = 64 << 20;
  const auto block = std::make_unique_for_overwrite<std::byte[]>(kSize);  // untouched
  const Bytes before = resident_memory();
  take_pages({block.get(), kSize});
  EXPECT_GT(resident_memory(), before + Bytes{60} * (1 << 20));
}

TEST(ProcessMemory, ShrinksByZerosThatAreReleased) {
  constexpr std::size_t kSize = 64 << 20;
  std::vector<std::byte> block(kSize + 1);
  std::fill(block.begin(), block.end(), std::byte{1});
  const Bytes touched = resident_memory();
  std::fill(block.begin() + 1, block.end(), std::byte{0});
  release_zeros(std::span(block).subspan(1));
  EXPECT_LT(resident_memory(), touched - Bytes{60} * (1 << 20));
  EXPECT_EQ(block[0], std::byte{1});
  for (std::size_t i = 1; i < block.size(); i += 1000) ASSERT_EQ(block[i], std::byte{0}) << i;
  block[kSize / 2] = std::byte{7};
  EXPECT_EQ(block[kSize / 2], std::byte{7});
}

}  // namespace
}  // namespace mangrove
