#include "mangrove/plan/profile_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

#include "mangrove/data/sha256.h"

namespace mangrove::plan {
namespace {

using mangrove::testing::TemporaryFolder;

Profile profile_of(double seconds) {
  Profile profile{"net", "pi-1", "portable", 8, 4, false, 35'000'000, {}, "mnist", 0.001};
  profile.operators = {{"conv: 1", "Conv", 1.5e9, 4096, seconds, 0, 640, 12'800}};
  return profile;
}

ProfileKey key_of(const std::string& network) {
  return {.network = data::sha256(network), .device = "pi-1, Cortex, 4 cores", .backend = "portable", .batch = 8};
}

TEST(ProfileCache, AreFoundForWhatTheyHoldFor) {
  const TemporaryFolder folder;
  const ProfileCache kept(folder.path());
  const ProfileKey key = key_of("a");
  EXPECT_FALSE(kept.find(key));
  ASSERT_TRUE(kept.keep(key, profile_of(0.25)).ok());
  const auto found = kept.find(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_yaml(*found), to_yaml(profile_of(0.25)));
  std::vector<ProfileKey> others(8, key);
  others[0] = key_of("b");
  others[1].device = "pi-2";
  others[2].backend = "onednn";
  others[3].batch = 1;
  others[4].threads = 4;
  others[5].training = true;
  others[6].fused = false;
  others[7].network = "";
  for (const ProfileKey& other : others) EXPECT_FALSE(kept.find(other));
  EXPECT_FALSE(ProfileCache({}).find(key)) << "without a folder nothing is kept";
}

TEST(ProfileCache, ADamagedOrForeignFileIsNotTaken) {
  const TemporaryFolder folder;
  const ProfileCache kept(folder.path());
  const ProfileKey key = key_of("a"), other = key_of("b");
  ASSERT_TRUE(kept.keep(key, profile_of(0.25)).ok());
  const std::string whole = read_file(kept.path(key)).value();
  std::string edited = whole;
  char& digit = edited[edited.find("forward: ") + std::string("forward: ").size()];
  digit = digit == '9' ? '8' : '9';
  const std::string yaml = whole.substr(whole.find('\n') + 1);
  for (const std::string& content :
       {edited, whole.substr(0, whole.size() / 2), std::string(), std::string("x"), yaml}) {
    std::ofstream(kept.path(key), std::ios::binary) << content;
    EXPECT_FALSE(kept.find(key)) << content;
    EXPECT_FALSE(fs::exists(kept.path(key)));
  }
  std::ofstream(kept.path(other), std::ios::binary) << whole;
  EXPECT_FALSE(kept.find(other)) << "of another network, under this one's name";
}

TEST(ProfileCache, GoWhenTheyAreManyTheOldestFirst) {
  const TemporaryFolder folder;
  const ProfileCache all(folder.path());
  ASSERT_TRUE(all.keep(key_of("a"), profile_of(0.25)).ok());
  const auto size = static_cast<Bytes>(fs::file_size(all.path(key_of("a"))));
  fs::last_write_time(all.path(key_of("a")), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const ProfileCache two(folder.path(), /*most=*/2 * size);
  ASSERT_TRUE(two.keep(key_of("b"), profile_of(0.25)).ok());
  ASSERT_TRUE(two.keep(key_of("c"), profile_of(0.25)).ok());
  EXPECT_FALSE(two.find(key_of("a")));
  EXPECT_TRUE(two.find(key_of("b")));
  EXPECT_TRUE(two.find(key_of("c")));
}

}  // namespace
}  // namespace mangrove::plan
