#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/job/still_device.h"
#include "tests/train/training_job.h"

#include "mangrove/data/glyphs.h"
#include "mangrove/data/shards.h"
#include "mangrove/data/subset.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/source.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kShardedDataSamples = 200;

/// Glyphs as shards of about 25 samples.
struct ShardedData : ::testing::Test {
  ShardedData() {
    for (const data::Split split : {data::Split::train, data::Split::test}) {
      const auto glyphs = data::first_samples(data::make_glyphs(split), kShardedDataSamples);
      const auto packed =
          data::write_shards(*glyphs, split, folder.path(), {.shard_bytes = 10'000, .compress = true}, [](auto) {}, {});
      EXPECT_TRUE(packed.ok() && packed->shards >= 5);
    }
  }
  TrainJob job() const {
    TrainJob sharded = small_job(kShardedDataSamples);
    sharded.set_data("shards:" + folder.path().string());
    return sharded;
  }
  const mangrove::testing::TemporaryFolder folder;
};

TEST_F(ShardedData, TrainsTheSameNetworkWithAndWithoutShardsAndCache) {
  const auto expected = train(small_job(kShardedDataSamples), 2);
  ASSERT_TRUE(expected.leader.ok());
  for (const Bytes cache : {Bytes{0}, Bytes{40'000}, Bytes{64'000'000}}) {
    TrainJob sharded = job();
    sharded.set_sample_cache(cache);
    const auto outcome = train(sharded, 2);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    expect_complete(outcome, sharded, "shards");
    EXPECT_EQ(trained_parameters(outcome), trained_parameters(expected)) << "bit for bit, cache " << cache;
  }
}

TEST_F(ShardedData, AWindowOfTheShardsHasEverySampleOnce) {
  TrainJob windowed = job();
  windowed.set_epochs(2);
  const auto all = train(windowed, 2);
  windowed.set_shuffle("window(50)");
  const auto first = train(windowed, 2), second = train(windowed, 2);
  ASSERT_TRUE(first.leader.ok()) << first.leader.error().message;
  expect_complete(first, windowed, "window");
  EXPECT_EQ(trained_parameters(first), trained_parameters(second));
  EXPECT_NE(trained_parameters(first), trained_parameters(all)) << "another order";
}

TEST_F(ShardedData, AWindowIsForDataInShards) {
  TrainJob plain = small_job(kShardedDataSamples);
  plain.set_shuffle("window(50)");
  const auto outcome = train(plain, 1);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("'glyphs' is not: pack it"), std::string::npos);
  for (const char* bad :
       {"window(0)", "window(-1)", "window()", "window(5", "window(1e3)", "most", "window(1000000001)"}) {
    plain.set_shuffle(bad);
    EXPECT_EQ(check_job(plain).code(), Code::invalid_argument) << bad;
  }
}

TEST_F(ShardedData, TheCacheIsWithinTheJobsMemory) {
  const auto shards = *data::open_dataset(job().data(), data::Split::train, "/");
  TrainJob cached = job();
  cached.set_sample_cache(100'000);
  EXPECT_EQ(sample_cache(cached, job::StillDevice()), 100'000);
  cached.set_memory(400'000);
  EXPECT_EQ(sample_cache(cached, job::StillDevice()), 50'000) << "an eighth";
  EXPECT_EQ(share_of_cache(50'000, *shards), 50'000);
  const Bytes all = share_of_cache(1'000'000'000'000, *shards);
  EXPECT_LT(all, 1'000'000) << "all samples";
  EXPECT_GT(all, kShardedDataSamples * 784 * 4);
  EXPECT_EQ(share_of_cache(50'000, *data::make_glyphs(data::Split::train)), 0) << "nothing is decoded";
}

}  // namespace
}  // namespace mangrove::train
