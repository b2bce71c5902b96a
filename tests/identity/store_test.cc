#include "mangrove/identity/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove::identity {
namespace {

const WallTime kStoreNow = WallTime(std::chrono::days(20'000));

TEST(IdentityStore, FindsThoseOfACluster) {
  const testing::TemporaryFolder folder;
  const IdentityStore store(folder / "identities");
  const Authority here = Authority::make(kStoreNow), there = Authority::make(kStoreNow);
  EXPECT_TRUE(store.of_authority(here.certificate().hash())->empty());
  ASSERT_TRUE(store.save(Identity::make(here, {Role::viewer, "me"}, kStoreNow)).ok());
  ASSERT_TRUE(store.save(Identity::make(here, {Role::admin, "me"}, kStoreNow)).ok());
  ASSERT_TRUE(store.save(Identity::make(there, {Role::client, "me"}, kStoreNow)).ok());
  const auto found = store.of_authority(here.certificate().hash());
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).identity.subject().role, Role::admin);
  EXPECT_EQ(found->at(1).identity.subject().role, Role::viewer);
  EXPECT_EQ(store.all()->size(), 3U);
}

TEST(IdentityStore, KeepsOneOfEachName) {
  const testing::TemporaryFolder folder;
  const IdentityStore store(folder / "identities");
  const Authority here = Authority::make(kStoreNow);
  ASSERT_TRUE(store.save(Identity::make(here, {Role::node, "pi"}, kStoreNow)).ok());
  const Identity second = Identity::make(here, {Role::node, "pi"}, kStoreNow);
  const fs::path path = *store.save(second);
  const auto found = *store.of_authority(here.certificate().hash());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().path, path);
  EXPECT_EQ(found.front().identity.certificate().serial(), second.certificate().serial());
}

TEST(IdentityStore, KeepsTheKeyOfAnAttemptToJoin) {
  const testing::TemporaryFolder folder;
  const IdentityStore store(folder / "identities");
  const JoinString string = JoinString::make(std::string(64, 'a'), "");
  const Subject pi{Role::node, "pi"};
  const PrivateKey key = *store.joining_key(string, pi);
  EXPECT_EQ(store.joining_key(string, pi)->public_hash(), key.public_hash());
  EXPECT_NE(store.joining_key(string, {Role::node, "pj"})->public_hash(), key.public_hash());
  EXPECT_NE(store.joining_key(JoinString::make(string.authority_hash, ""), pi)->public_hash(), key.public_hash());
  for (const fs::directory_entry& file : fs::directory_iterator(store.folder()))
    EXPECT_EQ(file.status().permissions(), fs::perms::owner_read | fs::perms::owner_write) << file;
  EXPECT_TRUE(store.of_authority(string.authority_hash)->empty());
  store.forget_joining_key(string, pi);
  EXPECT_NE(store.joining_key(string, pi)->public_hash(), key.public_hash());
}

TEST(IdentityStore, SkipsWhatIsNoneAndRefusesWhatOthersMayRead) {
  const testing::TemporaryFolder folder;
  const IdentityStore store(folder / "identities");
  const Authority here = Authority::make(kStoreNow);
  const std::string hash = here.certificate().hash();
  const fs::path path = *store.save(Identity::make(here, {Role::node, "pi"}, kStoreNow));
  const fs::path other = store.folder() / (hash.substr(0, 8) + ".node.broken.pem");
  std::ofstream(other) << "broken";
  fs::permissions(other, fs::perms::owner_read);
  EXPECT_EQ(store.of_authority(hash)->size(), 1U);
  fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(store.of_authority(hash).code(), Code::permission_denied);
}

}  // namespace
}  // namespace mangrove::identity
