#include "mangrove/data/file_bytes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "tests/base/temporary_folder.h"

#include "mangrove/base/process_memory.h"

namespace mangrove::data {
namespace {

std::string numbered_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

using mangrove::testing::TemporaryFolder;

TEST(FileBytes, CopiesPartsOfAFileAndOfMemory) {
  const TemporaryFolder folder;
  const std::string content = numbered_bytes(10'000);
  ASSERT_TRUE(write_file_atomically(folder.path() / "bytes", content).ok());
  const auto file = FileBytes::open(folder.path() / "bytes");
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const FileBytes& bytes : {*file, FileBytes::of(content)}) {
    std::vector<std::uint8_t> part(300);
    ASSERT_TRUE(bytes.copy(9'700, part).ok());
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], (9'700 + i) % 251) << i;
    EXPECT_TRUE(bytes.copy(10'000, {}).ok());
  }
}

TEST(FileBytes, CopiesDoNotMakeTheFileResident) {
  constexpr std::size_t kSize = 64 << 20;
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "bytes", numbered_bytes(kSize)).ok());
  release_freed_memory();
  const auto file = FileBytes::open(folder.path() / "bytes");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Bytes before = resident_memory();
  std::vector<std::uint8_t> part(1'000);
  for (std::size_t offset = 0; offset + part.size() <= kSize; offset += 4'096)
    ASSERT_TRUE(file->copy(offset, part).ok());
  EXPECT_LT(resident_memory() - before, 16 << 20);
}

TEST(FileBytes, SaysWhereAFileThatHasBecomeShorterEnds) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "bytes";
  ASSERT_TRUE(write_file_atomically(path, numbered_bytes(10'000)).ok());
  const auto file = FileBytes::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  fs::resize_file(path, 5'000);
  std::vector<std::uint8_t> part(2'000);
  const Status copied = file->copy(4'000, part);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().message,
            path.string() + ": byte 5000 of 10000 cannot be read any more: the file has become shorter");
}

/// A file that is cut in half while it is read, over and over.
TEST(FileBytes, AFileThatBecomesShorterWhileItIsReadEndsNoProcess) {
  constexpr std::size_t kSize = 4 << 20;
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "bytes";
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(write_file_atomically(path, numbered_bytes(kSize)).ok());
    const auto file = FileBytes::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    std::jthread cutter([&] { fs::resize_file(path, kSize / 2); });
    const Result<std::string> all = file->all();
    cutter.join();
    EXPECT_TRUE(all.ok() || all.error().message.find("the file has become shorter") != std::string::npos);
    EXPECT_EQ(file->all().code(), Code::data_loss);
  }
}

}  // namespace
}  // namespace mangrove::data
