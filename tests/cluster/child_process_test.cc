#include "mangrove/cluster/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "tests/base/eventually.h"

namespace mangrove::cluster {
namespace {

std::unique_ptr<ChildProcess> shell(const std::string& script, const fs::path& log = {}) {
  auto child = ChildProcess::start("/bin/sh", {"-c", script}, log);
  EXPECT_TRUE(child.ok()) << child.error().message;
  return child.ok() ? std::move(*child) : nullptr;
}

bool runs(pid_t pid) {
  return kill(pid, 0) == 0;
}

TEST(ChildProcess, ReadsLinesUntilItEnds) {
  const SteadyClock clock;
  const auto child = shell("echo one; printf 'two\\nthr'; printf 'ee\\n'; echo unfinished | tr -d '\\n'");
  for (const char* expected : {"one", "two", "three"}) {
    const Result<std::string> line = child->read_line(clock.after(20));
    ASSERT_TRUE(line.ok());
    EXPECT_EQ(*line, expected);
  }
  EXPECT_EQ(child->read_line(clock.after(20)).code(), Code::unavailable);
  EXPECT_TRUE(child->wait(clock.after(20)));
}

TEST(ChildProcess, AMuteOneRunsIntoTheDeadline) {
  const SteadyClock clock;
  const auto child = shell("exec sleep 1000");
  EXPECT_EQ(child->read_line(clock.after(0.05)).code(), Code::deadline_exceeded);
  EXPECT_FALSE(child->wait(clock.after(0.02)));
  child->terminate();
  EXPECT_TRUE(child->wait(clock.after(20)));
}

TEST(ChildProcess, SaysHowItEnded) {
  const SteadyClock clock;
  const auto failed = shell("exit 3");
  ASSERT_TRUE(failed->wait(clock.after(20)));
  EXPECT_EQ(failed->exit_status(), 3);
  const auto killed = shell("kill -9 $$");
  ASSERT_TRUE(killed->wait(clock.after(20)));
  EXPECT_EQ(killed->exit_status(), 128 + SIGKILL);
}

TEST(ChildProcess, NamesAProgramThatCannotBeStarted) {
  const auto missing = ChildProcess::start("/no/such/program", {}, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.error().message.find("/no/such/program"), std::string::npos);
  EXPECT_EQ(ChildProcess::start("/etc/passwd", {}, {}).code(), Code::permission_denied);
  EXPECT_EQ(ChildProcess::start("/bin/sh", {}, "/no/such/folder/log").code(), Code::not_found);
}

TEST(ChildProcess, ItsErrorsGoToTheLog) {
  const SteadyClock clock;
  const fs::path log = fs::path(::testing::TempDir()) / ("child-" + std::to_string(getpid()) + ".log");
  const auto child = shell("echo oops >&2; cat", log);  // and cat ends: the input is empty
  ASSERT_TRUE(child->wait(clock.after(20)));
  const Result<std::string> text = read_file(log);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "oops\n");
  fs::remove(log);
}

TEST(ChildProcess, EndsWithItsOwnerEvenIfItIgnoresSigterm) {
  const SteadyClock clock;
  auto child = shell("trap '' TERM; echo ready; while :; do sleep 1; done");
  ASSERT_TRUE(child->read_line(clock.after(20)).ok());
  const pid_t pid = child->pid();
  child->terminate();
  EXPECT_FALSE(child->wait(clock.after(0.1)));
  child.reset();
  EXPECT_FALSE(runs(pid)) << "neither alive nor a zombie";
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt) {
  const SteadyClock clock;
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = shell("exec sleep 1000"); }).join();
  EXPECT_TRUE(child->wait(clock.after(20)));
}

TEST(ChildProcess, HasAProcessGroupOfItsOwn) {
  const auto child = shell("exec sleep 1000");
  EXPECT_EQ(getpgid(child->pid()), child->pid());
  EXPECT_NE(getpgid(child->pid()), getpgid(0));
}

}  // namespace
}  // namespace mangrove::cluster
