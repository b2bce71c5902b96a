#include "mangrove/identity/secret_file.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove::identity {
namespace {

constexpr fs::perms kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

TEST(SecretFile, IsReadAsItWasWritten) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_private_file(folder / "key", "secret").ok());
  EXPECT_EQ(*read_secret_file(folder / "key"), "secret");
  EXPECT_EQ(fs::status(folder / "key").permissions(), kOwnerOnly);
}

TEST(SecretFile, IsRefusedWhereOthersMayReadOrChangeIt) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_private_file(folder / "key", "secret").ok());
  for (const fs::perms more : {fs::perms::group_read, fs::perms::others_read, fs::perms::group_write}) {
    fs::permissions(folder / "key", kOwnerOnly | more);
    const auto read = read_secret_file(folder / "key");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.code(), Code::permission_denied);
    EXPECT_NE(read.error().message.find("run: chmod 600 "), std::string::npos) << read.error().message;
  }
  EXPECT_EQ(read_secret_file(folder / "none").code(), Code::not_found);
}

TEST(SecretFile, ItsFolderIsItsOwnersAlone) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(make_secret_folder(folder / "a" / "b").ok());
  EXPECT_EQ(fs::status(folder / "a" / "b").permissions(), fs::perms::owner_all);
}

}  // namespace
}  // namespace mangrove::identity
