#include "mangrove/testbed/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/testbed/here.h"

#include "mangrove/base/clock.h"
#include "mangrove/cluster/child_process.h"

namespace mangrove::testbed {
namespace {

using mangrove::testing::TemporaryFolder;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Hierarchies, OfVersion1HaveAMountEach) {
  const Hierarchies found = Hierarchies::parse(
      "proc /proc proc rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
      "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
      "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
      "cgroup2 /no/such/mount cgroup2 rw 0 0\n");
  EXPECT_EQ(found.cpu.version, 1);
  EXPECT_EQ(found.cpu.mount, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(found.memory.version, 1);
  EXPECT_EQ(found.memory.mount, "/sys/fs/cgroup/memory");
}

TEST(Hierarchies, OfVersion2AreOneWithAList) {
  const TemporaryFolder folder;
  std::ofstream(folder / "cgroup.controllers") << "cpuset cpu io memory pids\n";
  const Hierarchies found = Hierarchies::parse("cgroup2 " + folder.path().string() + " cgroup2 rw 0 0\n");
  EXPECT_EQ(found.cpu.version, 2);
  EXPECT_EQ(found.memory.version, 2);
  EXPECT_EQ(found.memory.mount, folder.path());
}

TEST(Hierarchies, MayHaveOneOfEachVersion) {
  const TemporaryFolder folder;
  std::ofstream(folder / "cgroup.controllers") << "memory\n";
  const Hierarchies found =
      Hierarchies::parse("cgroup /c cgroup rw,cpu 0 0\ncgroup2 " + folder.path().string() + " cgroup2 rw 0 0\n");
  EXPECT_EQ(found.cpu.version, 1);
  EXPECT_EQ(found.memory.version, 2);
}

TEST(ControlGroup, WithoutTheControllerSaysSo) {
  const Status created = ControlGroup(Hierarchies::parse("").memory, "group", "pi").create("memory");
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().message, "this system has no control groups for 'memory'");
}

/// A folder with the files that a kernel would put into a group.
struct FakeGroup {
  FakeGroup(int version, const std::vector<std::string>& files) : group({version, folder.path()}, "testbed", "pi") {
    fs::create_directories(group.path());
    for (const fs::path& above : {folder.path(), group.path().parent_path()})
      std::ofstream(above / "cgroup.subtree_control");
    for (const std::string& file : files) std::ofstream(group.path() / file) << "max 100000\n";
  }
  TemporaryFolder folder;
  ControlGroup group;
};

TEST(ControlGroup, OfVersion2WritesItsFiles) {
  const FakeGroup fake(2, {"cpu.max", "memory.max", "memory.swap.max"});
  const ControlGroup& group = fake.group;
  EXPECT_FALSE(group.cpu_limit()) << "max";
  EXPECT_FALSE(group.memory_limit()) << "max";
  ASSERT_TRUE(group.create("cpu").ok());
  EXPECT_EQ(text_of(fake.folder / "cgroup.subtree_control"), "+cpu");
  EXPECT_EQ(text_of(fake.folder / "testbed/cgroup.subtree_control"), "+cpu");
  ASSERT_TRUE(group.limit_cpu(0.18).ok());
  ASSERT_TRUE(group.limit_memory(1'000'000'000).ok());
  EXPECT_EQ(text_of(group.path() / "cpu.max").substr(0, 10), "3600 20000");
  EXPECT_EQ(text_of(group.path() / "memory.max").substr(0, 10), "1000000000");
  EXPECT_EQ(text_of(group.path() / "memory.swap.max").substr(0, 1), "0");
  EXPECT_NEAR(group.cpu_limit().value_or(0), 0.18, 1e-9);
}

TEST(ControlGroup, NamesTheFileThatCannotBeWritten) {
  const FakeGroup fake(2, {});
  const Status limited = fake.group.limit_memory(MiB(64));
  ASSERT_FALSE(limited.ok());
  EXPECT_NE(limited.error().message.find((fake.group.path() / "memory.max").string()), std::string::npos);
}

/// On this machine's kernel.
struct RealGroup : ::testing::Test {
  void SetUp() override {
    if (const std::string reason = why_no_groups(); !reason.empty()) GTEST_SKIP() << reason;
  }
  void TearDown() override {
    for (const fs::path& group : find_groups(hierarchies, name)) EXPECT_TRUE(remove_group(group).ok());
    EXPECT_TRUE(find_groups(hierarchies, name).empty());
  }
  const Hierarchies hierarchies = Hierarchies::of_this_machine();
  const std::string name = "mangrove-cgroup-test-" + std::to_string(getpid());
};

TEST_F(RealGroup, SaysWhatIsSet) {
  const ControlGroup cpu(hierarchies.cpu, name, "pi"), memory(hierarchies.memory, name, "pi");
  ASSERT_TRUE(cpu.create("cpu").ok());
  ASSERT_TRUE(memory.create("memory").ok());
  EXPECT_FALSE(cpu.cpu_limit());
  EXPECT_FALSE(memory.memory_limit());
  ASSERT_TRUE(cpu.limit_cpu(0.25).ok());
  ASSERT_TRUE(memory.limit_memory(MiB(64)).ok());
  EXPECT_NEAR(cpu.cpu_limit().value_or(0), 0.25, 1e-9);
  EXPECT_EQ(memory.memory_limit().value_or(0), MiB(64));
}

TEST_F(RealGroup, AProcessThatTakesMoreMemoryIsKilled) {
  const SteadyClock clock;
  const ControlGroup group(hierarchies.memory, name, "pi");
  ASSERT_TRUE(group.create("memory").ok());
  ASSERT_TRUE(group.limit_memory(MiB(24)).ok());
  const std::string enter = "echo $$ > " + (group.path() / "cgroup.procs").string() + "; exec ";
  for (const auto& [size, status] : {std::pair("8M", 0), std::pair("100M", 128 + SIGKILL)}) {
    const auto child = cluster::ChildProcess::start(
        "/bin/sh", {"-c", enter + "dd if=/dev/zero of=/dev/null count=1 bs=" + std::string(size)}, {});
    ASSERT_TRUE(child.ok());
    ASSERT_TRUE((*child)->wait(clock.after(30)));
    EXPECT_EQ((*child)->exit_status(), status) << size;
  }
}

TEST_F(RealGroup, IsRemovedWithTheProcessesInIt) {
  SteadyClock clock;
  const ControlGroup group(hierarchies.cpu, name, "pi");
  ASSERT_TRUE(group.create("cpu").ok());
  const std::string procs = (group.path() / "cgroup.procs").string();
  const auto child =
      cluster::ChildProcess::start("/bin/sh", {"-c", "echo $$ > " + procs + "; echo in; exec sleep 1000"}, {});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE((*child)->read_line(clock.after(20)).ok());
  EXPECT_TRUE(remove_group(group.path().parent_path()).ok());
  EXPECT_FALSE(fs::exists(group.path().parent_path()));
  ASSERT_TRUE((*child)->wait(clock.after(20)));
  EXPECT_EQ((*child)->exit_status(), 128 + SIGKILL);
}

}  // namespace
}  // namespace mangrove::testbed
