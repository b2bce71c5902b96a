#include "mangrove/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove {
namespace {

TEST(ReadFile, GivesEveryByteOfFilesOfAnySize) {
  const testing::TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 100000u}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 7);
    std::ofstream(folder / "f", std::ios::binary) << content;
    const auto read = read_file(folder / "f");
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, content) << size;
  }
}

TEST(ReadFile, NamesTheFileThatIsMissingOrAFolder) {
  const testing::TemporaryFolder folder;
  const auto missing = read_file(folder / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
  EXPECT_EQ(read_file(folder.path()).code(), Code::invalid_argument);
}

TEST(WriteFileAtomically, ReplacesTheFileAndLeavesNothingElse) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "f", "old").ok());
  ASSERT_TRUE(write_file_atomically(folder / "f", "new").ok());
  EXPECT_EQ(*read_file(folder / "f"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(WriteFileAtomically, LeavesTheOldFileWhereTheDiskIsFull) {
  // /dev/full takes no byte; a rename onto it must not be tried
  const Status status = write_file_atomically("/dev/full/impossible", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("/dev/full/impossible"), std::string::npos);
}

TEST(WriteFileAtomically, NamesTheFolderThatIsMissing) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(write_file_atomically(folder / "no/f", "x").code(), Code::not_found);
}

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(WritePrivateFile, OnlyItsOwnerReadsIt) {
  for (const mode_t before : {0600u, 0644u, 0777u}) {
    const testing::TemporaryFolder folder;
    std::ofstream(folder / "f") << "old";
    fs::permissions(folder / "f", fs::perms(before));
    ASSERT_TRUE(write_private_file(folder / "f", "new").ok());
    EXPECT_EQ(mode_of(folder / "f"), 0600u) << before;
    EXPECT_EQ(*read_file(folder / "f"), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  }
}

TEST(WritePrivateFile, FollowsNoLink) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "victim") << "untouched";
  fs::create_symlink(folder / "victim", folder / "f");
  ASSERT_TRUE(write_private_file(folder / "f", "weights").ok());
  EXPECT_EQ(*read_file(folder / "victim"), "untouched");
  EXPECT_FALSE(fs::is_symlink(folder / "f"));
}

TEST(WritePrivateFile, LetsLinksInThePlaceOfItsTemporaryFileAlone) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "victim") << "untouched";
  for (int i = 0; i < 1000; ++i) {  // the names that it will take
    const std::string name = "f.tmp." + std::to_string(::getpid()) + "." + std::to_string(i);
    if (i % 50 != 49) fs::create_symlink(folder / "victim", folder / name);
  }
  ASSERT_TRUE(write_private_file(folder / "f", "weights").ok());
  EXPECT_EQ(*read_file(folder / "f"), "weights");
  EXPECT_EQ(*read_file(folder / "victim"), "untouched");
}

TEST(MakeWritableFolder, MakesParentsAndRefusesAFile) {
  const testing::TemporaryFolder folder;
  EXPECT_TRUE(make_writable_folder(folder / "a/b/c").ok());
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  ASSERT_TRUE(write_file_atomically(folder / "file", "").ok());
  const Status status = make_writable_folder(folder / "file");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::already_exists);
  EXPECT_NE(status.error().message.find("file"), std::string::npos);
}

}  // namespace
}  // namespace mangrove
