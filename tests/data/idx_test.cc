#include "mangrove/data/idx.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::gzipped;
using testing::idx;
using testing::write;

TEST(IdxFile, ReadsSizesAndElementsOfBothForms) {
  const TemporaryFolder folder;
  const std::string content = idx(2051, {2, 1, 3}, "abcdef");
  write(folder / "raw", content);
  write(folder / "packed.gz", gzipped(content));
  for (const char* name : {"raw", "packed.gz"}) {
    const auto file = IdxFile::open(folder / name, 3);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->sizes(), (std::vector<std::uint32_t>{2, 1, 3}));
    EXPECT_EQ(*file->elements(), "abcdef") << name;
  }
}

TEST(IdxFile, StaysReadableWhenItsNameIsReplaced) {
  const TemporaryFolder folder;
  write(folder / "labels", idx(2049, {3}, "abc"));
  const auto file = IdxFile::open(folder / "labels", 1);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_file_atomically(folder / "labels", "").ok());
  EXPECT_EQ(*file->elements(), "abc");
}

struct BadFile {
  const char* name;
  std::string content;
  const char* message;  // part of it
};

class BadIdxFile : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadIdxFile, IsRefusedNamingFileFoundAndExpected) {
  const TemporaryFolder folder;
  for (const char* name : {"raw", "packed.gz"}) {
    const bool packed = fs::path(name).extension() == ".gz";
    write(folder / name, packed ? gzipped(GetParam().content) : GetParam().content);
    const auto file = IdxFile::open(folder / name, 3);
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_EQ(file.code(), Code::data_loss);
    EXPECT_NE(file.error().message.find((folder / name).string()), std::string::npos) << file.error().message;
    EXPECT_NE(file.error().message.find(GetParam().message), std::string::npos) << file.error().message;
  }
}

constexpr std::uint32_t kHuge = 0xffffffff;

INSTANTIATE_TEST_SUITE_P(
    Idx, BadIdxFile,
    ::testing::Values(
        BadFile{"empty", "", "truncated: 0 bytes found, an IDX header of 16 expected"},
        BadFile{"part_of_header", idx(2051, {2, 1}, ""), "truncated: 12 bytes found"},
        BadFile{"labels_instead_of_images", idx(2049, {4}, "abcdefghijkl"), "magic number 2049 found, 2051 expected"},
        BadFile{"text", "<html>404 not found</html>", "magic number 1013478509 found, 2051 expected"},
        BadFile{"zero_images", idx(2051, {0, 28, 28}, ""), "dimension 0 is zero"},
        BadFile{"zero_columns", idx(2051, {2, 28, 0}, ""), "dimension 2 is zero"},
        BadFile{"one_byte_missing", idx(2051, {2, 1, 3}, "abcde"), "truncated: 21 bytes found, 22 expected"},
        BadFile{"one_byte_more", idx(2051, {2, 1, 3}, "abcdefg"), "23 bytes found, 22 expected"},
        BadFile{"promises_terabytes", idx(2051, {kHuge, 28, 28}, "abc"), "are too large"},
        BadFile{"sizes_overflow", idx(2051, {kHuge, kHuge, kHuge}, "abc"), "are too large"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(IdxFile, CorruptGzipIsRefused) {
  const TemporaryFolder folder;
  const std::string good = gzipped(idx(2049, {1000}, std::string(1000, 'x')));
  std::string wrong_checksum = good;
  wrong_checksum[good.size() - 8] ^= 1;
  const std::pair<const char*, std::string> cases[] = {{"not gzip", "hello"},
                                                       {"cut", good.substr(0, good.size() - 9)},
                                                       {"without its end", good.substr(0, good.size() - 1)},
                                                       {"wrong checksum", wrong_checksum},
                                                       {"followed by more", good + "x"}};
  for (const auto& [name, content] : cases) {
    write(folder / "labels.gz", content);
    const auto file = IdxFile::open(folder / "labels.gz", 1);
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_EQ(file.code(), Code::data_loss) << name;
    EXPECT_NE(file.error().message.find("labels.gz: not a valid gzip stream"), std::string::npos)
        << file.error().message;
  }
}

TEST(IdxFile, GzipBombIsUnpackedOnlyAsFarAsItsHeaderSays) {
  const TemporaryFolder folder;
  write(folder / "labels.gz", gzipped(idx(2049, {10}, std::string(50'000'000, '\0'))));
  const auto file = IdxFile::open(folder / "labels.gz", 1);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("too long: at least 19 bytes found, 18 expected"), std::string::npos)
      << file.error().message;
}

TEST(IdxFile, WhatIsNotAFileIsRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(IdxFile::open(folder / "absent", 1).code(), Code::not_found);
  fs::create_directory(folder / "directory");
  EXPECT_EQ(IdxFile::open(folder / "directory", 1).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::data
