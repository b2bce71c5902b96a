#include "mangrove/sensors/outbox.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"

namespace mangrove::sensors {
namespace {

using testing::TemporaryFolder;

Letter letter(const std::string& payload, const std::string& sink = "hub") {
  return {.sink = sink, .topic = "up/x", .payload = payload};
}

std::unique_ptr<DiskOutbox> opened(const TemporaryFolder& folder, const DiskOutbox::Limits& limits = {}) {
  auto outbox = DiskOutbox::open(folder / "outbox.sqlite", limits);
  EXPECT_TRUE(outbox.ok()) << outbox.error().message;
  return std::move(outbox).value();
}

std::string payloads(Outbox& outbox, const std::string& sink = "hub") {
  std::string all;
  const auto letters = outbox.after(sink, 0, 1000);
  for (const Letter& one : letters.value()) all += one.payload;
  return all;
}

void expect_first_in_first_out(Outbox& outbox) {
  ASSERT_TRUE(outbox.put({letter("a"), letter("b"), letter("z", "other"), letter("c")}, {}).ok());
  EXPECT_EQ(payloads(outbox), "abc");
  EXPECT_EQ(payloads(outbox, "other"), "z");
  const std::vector<Letter> all = outbox.after("hub", 0, 1000).value();
  EXPECT_EQ(outbox.after("hub", all[0].number, 1).value().at(0).payload, "b");
  ASSERT_TRUE(outbox.remove({all[1].number, 4711}).ok());
  EXPECT_EQ(payloads(outbox), "ac");
  EXPECT_EQ(outbox.waiting(), 3);
}

void expect_ring(Outbox& outbox, int fitting) {
  for (int i = 0; i < 3 * fitting; ++i) ASSERT_TRUE(outbox.put({letter(std::string(100, 'x'))}, {}).ok());
  EXPECT_EQ(outbox.waiting(), fitting);
  EXPECT_EQ(outbox.dropped(), static_cast<std::uint64_t>(2 * fitting));
  ASSERT_TRUE(outbox.put({letter(std::string(1'000'000, 'y'))}, {}).ok());
  EXPECT_EQ(outbox.dropped(), static_cast<std::uint64_t>(2 * fitting + 1)) << "one that never fits pushes nothing out";
  EXPECT_EQ(outbox.waiting(), fitting);
}

TEST(Outbox, GivesLettersInTheirOrderBySink) {
  const TemporaryFolder folder;
  expect_first_in_first_out(*memory_outbox(1'000'000));
  expect_first_in_first_out(*opened(folder));
}

TEST(Outbox, TheOldestGoWhenItIsFull) {
  const TemporaryFolder folder;
  const Bytes each = letter(std::string(100, 'x')).bytes();
  expect_ring(*memory_outbox(10 * each), 10);
  expect_ring(*opened(folder, {.bytes = 10 * each}), 10);
}

TEST(DiskOutbox, RemembersLettersIdsAndNumbersOverARestart) {
  const TemporaryFolder folder;
  std::string origin;
  std::int64_t number = 0;
  {
    const auto outbox = opened(folder);
    ASSERT_TRUE(outbox->put({letter("a"), letter("b")}, {"id-1"}).ok());
    origin = outbox->origin();
    number = outbox->next_number().value();
  }
  const auto outbox = opened(folder);
  EXPECT_EQ(payloads(*outbox), "ab");
  EXPECT_EQ(outbox->waiting(), 2);
  EXPECT_TRUE(outbox->has_seen("id-1").value());
  EXPECT_FALSE(outbox->has_seen("id-2").value());
  EXPECT_EQ(outbox->origin(), origin);
  EXPECT_EQ(origin.size(), 8U);
  EXPECT_GT(outbox->next_number().value(), number);
}

TEST(DiskOutbox, ForgetsTheOldestIds) {
  const TemporaryFolder folder;
  const auto outbox = opened(folder, {.ids = 3});
  for (const char* id : {"a", "b", "c", "b", "d"}) ASSERT_TRUE(outbox->put({}, {id}).ok());
  EXPECT_FALSE(outbox->has_seen("a").value());
  for (const char* id : {"b", "c", "d"}) EXPECT_TRUE(outbox->has_seen(id).value()) << id;
}

/// Puts letters, and says on a pipe how many are stored, until it is killed.
[[noreturn]] void store_for_ever(const fs::path& path, int pipe) {
  auto outbox = DiskOutbox::open(path, {});
  if (!outbox.ok()) ::_exit(1);
  for (std::uint32_t i = 0;; ++i) {
    if (!(*outbox)->put({letter(std::to_string(i))}, {std::to_string(i)}).ok()) ::_exit(2);
    if (::write(pipe, &i, sizeof i) != sizeof i) ::_exit(3);
  }
}

TEST(DiskOutbox, WhatWasStoredIsThereAfterAKill) {
  const TemporaryFolder folder;
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) store_for_ever(folder / "outbox.sqlite", ends[1]);
  ::close(ends[1]);
  std::uint32_t last = 0;
  while (last < 500) ASSERT_EQ(::read(ends[0], &last, sizeof last), static_cast<ssize_t>(sizeof last));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  while (::read(ends[0], &last, sizeof last) == static_cast<ssize_t>(sizeof last)) continue;
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);

  const auto outbox = opened(folder);
  const std::vector<Letter> letters = outbox->after("hub", 0, 1'000'000).value();
  ASSERT_GT(letters.size(), last);
  ASSERT_LE(letters.size(), last + 2U) << "one may be stored and not yet told";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    ASSERT_EQ(letters[i].payload, std::to_string(i));
    ASSERT_TRUE(outbox->has_seen(std::to_string(i)).value()) << "letter and id are stored together";
  }
}

/// Fills the disk: files of this process may be so long. 0: it went on as it should.
[[noreturn]] void fill_the_disk(const fs::path& path) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto outbox = DiskOutbox::open(path, {});
  if (!outbox.ok() || !(*outbox)->put({letter("kept")}, {}).ok()) ::_exit(1);
  const rlimit small = {256 << 10, 256 << 10};
  if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(2);
  Status stored;
  for (int i = 0; i < 100 && stored.ok(); ++i) stored = (*outbox)->put({letter(std::string(20'000, 'x'))}, {});
  if (stored.ok()) ::_exit(3);
  const auto found = (*outbox)->after("hub", 0, 1);
  if (!found.ok() || found->empty() || found->front().payload != "kept") ::_exit(4);
  if (static_cast<std::size_t>((*outbox)->waiting()) != (*outbox)->after("hub", 0, 1000)->size()) ::_exit(5);
  ::_exit(0);
}

TEST(DiskOutbox, AFullDiskIsAnErrorAndLosesNothingThatWasStored) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) fill_the_disk(folder / "outbox.sqlite");
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(payloads(*opened(folder)).starts_with("kept"));
}

}  // namespace
}  // namespace mangrove::sensors
