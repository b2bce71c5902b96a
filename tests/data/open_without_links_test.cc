#include "mangrove/data/open_without_links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;

/// Both ways to do it.
class OpenWithoutLinks : public ::testing::TestWithParam<int (*)(const fs::path&, int)> {
 protected:
  void SetUp() override {
    fs::create_directories(real / "sub");
    std::ofstream(real / "sub/file") << "x";
    fs::create_symlink("file", real / "sub/link");
    fs::create_directory_symlink("sub", real / "way");
  }
  /// 0, or the errno.
  int opens(const fs::path& path) const {
    const int descriptor = GetParam()(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    ::close(descriptor);
    return 0;
  }

  const TemporaryFolder root;
  const fs::path real = fs::canonical(root / "");
};

TEST_P(OpenWithoutLinks, OpensAFileAndNoLink) {
  EXPECT_EQ(opens(real / "sub/file"), 0);
  EXPECT_EQ(opens(real / "sub/link"), ELOOP);
  EXPECT_EQ(opens(real / "sub/none"), ENOENT);
}

TEST_P(OpenWithoutLinks, FollowsNoLinkOnTheWay) {
  const int problem = opens(real / "way/file");
  EXPECT_TRUE(problem == ELOOP || problem == ENOTDIR) << problem;
}

INSTANTIATE_TEST_SUITE_P(BothWays, OpenWithoutLinks, ::testing::Values(&open_without_links, &walk_without_links),
                         [](const auto& way) { return way.index == 0 ? "InOneCall" : "FolderByFolder"; });

}  // namespace
}  // namespace mangrove::data
