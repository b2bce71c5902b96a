#include "mangrove/data/shard_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

#include "mangrove/data/glyphs.h"
#include "mangrove/data/shards.h"
#include "mangrove/data/spec.h"
#include "mangrove/data/subset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;

constexpr std::int64_t kSamples = 60;

std::string sum_of(ShardFolder& folder, std::uint32_t shard) {
  return *folder.sha256(shard);
}

std::size_t partial_folders(const fs::path& root) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().filename().string().starts_with("partial-")) ++count;
  return count;
}

/// The glyphs as three shards or so in `packed`.
struct ShardCacheTest : ::testing::Test {
  ShardCacheTest() {
    const auto glyphs = first_samples(make_glyphs(Split::train), kSamples);
    EXPECT_TRUE(write_shards(*glyphs, Split::train, packed, {.shard_bytes = 16'000}, [](auto) {}, {}).ok());
    given.emplace(*ShardFolder::open(packed));
    EXPECT_GE(given->outlines().size(), 3u);
  }
  Result<ShardCache> open(const fs::path& own = {}) { return ShardCache::open(given->outlines(), own, root); }
  /// All of it, the parts in reverse.
  void bring(ShardCache& cache, std::uint32_t shard, char flip = 0) {
    constexpr Bytes kPart = 5000;
    const Bytes size = given->outlines()[shard].size;
    for (Bytes offset = (size - 1) / kPart * kPart; offset >= 0; offset -= kPart) {
      std::string part = *given->read(shard, offset, kPart);
      part.back() = static_cast<char>(part.back() ^ flip);
      ASSERT_TRUE(cache.write(shard, offset, part).ok());
    }
  }
  std::shared_ptr<const Dataset> dataset(const ShardCache& cache) {
    return *open_dataset("shards:" + cache.folder().string(), Split::train, {});
  }
  const TemporaryFolder folder;
  const fs::path packed = folder / "packed", root = folder / "fetched";
  std::optional<ShardFolder> given;
};

TEST_F(ShardCacheTest, ADataSetIsOpenBeforeItsShardsComeAndReadsThemWhenTheyHave) {
  auto cache = open();
  ASSERT_TRUE(cache.ok()) << cache.error().message;
  const auto read_back = dataset(*cache);
  const auto original = *open_dataset("shards:" + packed.string(), Split::train, {});
  ASSERT_EQ(read_back->size(), original->size());
  std::vector<float> expected(784), found(784);
  EXPECT_EQ(read_back->read(0, found).code(), Code::data_loss) << "it has not come";
  EXPECT_EQ(read_back->label(kSamples - 1), original->label(kSamples - 1)) << "that is known";
  for (std::uint32_t shard = 0; shard < given->outlines().size(); ++shard) {
    EXPECT_FALSE(cache->has(shard));
    EXPECT_EQ(cache->read(shard, 0, 10).code(), Code::not_found);
    bring(*cache, shard);
    ASSERT_TRUE(cache->finish(shard, sum_of(*given, shard)).ok());
    EXPECT_EQ(*cache->read(shard, 100, 50), *given->read(shard, 100, 50));
  }
  for (std::uint32_t i = 0; i < original->size(); ++i) {
    ASSERT_TRUE(original->read(i, expected).ok() && read_back->read(i, found).ok());
    EXPECT_EQ(found, expected);
  }
}

TEST_F(ShardCacheTest, KeepsWhatHasComeForTheNextTimeAndNothingElse) {
  {
    auto cache = open();
    bring(*cache, 1);
    ASSERT_TRUE(cache->finish(1, sum_of(*given, 1)).ok());
    bring(*cache, 2);
  }
  EXPECT_EQ(partial_folders(root), 0u);
  auto again = open();
  EXPECT_TRUE(again->has(1));
  EXPECT_FALSE(again->has(0) || again->has(2)) << "shard 2 was not finished";
  EXPECT_EQ(dataset(*again)->size(), kSamples);
}

TEST_F(ShardCacheTest, WhatAKilledProcessLeftIsRemovedAndWhatALivingOneUsesIsNot) {
  const auto cache = open();
  fs::create_directories(cache->folder().parent_path() / "partial-killed");
  EXPECT_EQ(partial_folders(root), 2u);
  const auto other = open();
  EXPECT_EQ(partial_folders(root), 2u) << "of the two that live";
  EXPECT_TRUE(fs::exists(cache->folder()));
}

TEST_F(ShardCacheTest, AShardThatIsNotWhatItShouldBeHasToComeAgain) {
  auto cache = open();
  bring(*cache, 0, 1);
  EXPECT_EQ(cache->finish(0, sum_of(*given, 0)).code(), Code::data_loss);
  EXPECT_FALSE(cache->has(0));
  bring(*cache, 0);
  EXPECT_TRUE(cache->finish(0, sum_of(*given, 0)).ok());
}

TEST_F(ShardCacheTest, WhatTheDeviceHasItselfIsUsedWhereItIsTheSame) {
  const fs::path own = folder / "own";
  fs::create_directory(own);
  fs::copy_file(packed / given->outlines()[0].name, own / given->outlines()[0].name);
  fs::copy_file(packed / given->outlines()[1].name, own / given->outlines()[1].name);
  fs::resize_file(own / given->outlines()[1].name, static_cast<std::uintmax_t>(given->outlines()[1].size) - 1);
  const auto cache = open(own);
  EXPECT_TRUE(cache->has(0));
  EXPECT_FALSE(cache->has(1)) << "truncated";
  const auto all = open(packed);
  EXPECT_TRUE(all->has(0) && all->has(1) && all->has(2));
  EXPECT_EQ(all->folder(), packed) << "nothing is made where nothing is missing";
}

TEST_F(ShardCacheTest, NamesThatLeadElsewhereAreRefused) {
  const ShardOutline good = given->outlines()[0];
  for (const char* name : {"../train-00000.shard", "/etc/x.shard", "train-00000", ""}) {
    ShardOutline bad = good;
    bad.name = name;
    EXPECT_EQ(ShardCache::open({bad}, {}, root).code(), Code::data_loss) << name;
  }
  ShardOutline short_one = good;
  short_one.size = static_cast<Bytes>(good.head.size());
  EXPECT_EQ(ShardCache::open({short_one}, {}, root).code(), Code::data_loss);
  EXPECT_EQ(ShardCache::open({good, good}, {}, root).code(), Code::data_loss) << "twice";
  EXPECT_EQ(ShardCache::open({}, {}, root).code(), Code::data_loss);
  EXPECT_FALSE(fs::exists(root));
}

TEST_F(ShardCacheTest, AFolderThatCannotBeWrittenIsNamed) {
  std::ofstream(root) << "a file";
  const auto cache = open();
  ASSERT_FALSE(cache.ok());
  EXPECT_NE(cache.error().message.find(root.string()), std::string::npos) << cache.error().message;
}

TEST_F(ShardCacheTest, PartsOutsideOfAFileAreRefused) {
  EXPECT_EQ(given->read(0, given->outlines()[0].size, 1).code(), Code::out_of_range);
  EXPECT_EQ(given->read(0, -1, 1).code(), Code::out_of_range);
  EXPECT_EQ(given->read(99, 0, 1).code(), Code::not_found);
  EXPECT_EQ(given->read(0, given->outlines()[0].size - 3, 100)->size(), 3u);
}

}  // namespace
}  // namespace mangrove::data
