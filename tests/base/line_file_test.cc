#include "mangrove/base/line_file.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove {
namespace {

using testing::TemporaryFolder;

TEST(LineFile, KeepsTheFileBeforeAsOne) {
  const TemporaryFolder folder;
  const fs::path file = folder / "log";
  const LineFileOptions options{.most = 10};
  ASSERT_TRUE(append_lines(file, "12345\n", options).ok());
  ASSERT_TRUE(append_lines(file, "789\n", options).ok());
  EXPECT_FALSE(fs::exists(folder / "log.1")) << "it is as long as it may be, not longer";
  ASSERT_TRUE(append_lines(file, "a\n", options).ok());
  EXPECT_EQ(read_file(folder / "log.1").value(), "12345\n789\n");
  ASSERT_TRUE(append_lines(file, "a long line of its own\n", options).ok());
  ASSERT_TRUE(append_lines(file, "b\n", options).ok());
  EXPECT_EQ(read_file(folder / "log.1").value(), "a long line of its own\n");
  EXPECT_EQ(read_file(file).value(), "b\n");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(LineFile, EndsALineThatIsTornAndFollowsNoLink) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_private_file(folder / "log", "torn").ok());
  ASSERT_TRUE(append_lines(folder / "log", "whole\n", {.is_synced = true}).ok());
  EXPECT_EQ(read_file(folder / "log").value(), "torn\nwhole\n");
  fs::create_symlink(folder / "elsewhere", folder / "link");
  const Status through = append_lines(folder / "link", "a\n", {});
  EXPECT_FALSE(through.ok());
  EXPECT_NE(through.error().message.find("link"), std::string::npos) << through.error().message;
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

TEST(LineFile, TakesTheRightsOfOthersFromAFileThatIsThere) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_private_file(folder / "log", "a\n").ok());
  fs::permissions(folder / "log", fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  ASSERT_TRUE(append_lines(folder / "log", "b\n", {}).ok());
  EXPECT_EQ(fs::status(folder / "log").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_file(folder / "log").value(), "a\nb\n");
}

TEST(LineFile, SaysWhichFileCannotBeWritten) {
  const TemporaryFolder folder;
  const Status written = append_lines(folder / "no folder/log", "a\n", {});
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("no folder/log"), std::string::npos) << written.error().message;
}

}  // namespace
}  // namespace mangrove
