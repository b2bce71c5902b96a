#include "mangrove/identity/join_string.h"

#include <gtest/gtest.h>

namespace mangrove::identity {
namespace {

const std::string kHash(64, 'a');

TEST(JoinString, IsReadAsItWasMade) {
  for (const std::string address : {"", "192.168.1.10:7070", "[::1]:7070", "edge.local:7070"}) {
    const JoinString made = JoinString::make(kHash, address);
    const auto read = JoinString::parse("  " + made.to_string() + "\n");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->authority_hash, kHash);
    EXPECT_EQ(read->address, address);
    EXPECT_EQ(read->id, made.id);
    EXPECT_EQ(read->secret, made.secret);
  }
  EXPECT_TRUE(JoinString::make(kHash, "").to_string().starts_with("MG1" + kHash + "::"));
}

TEST(JoinString, EveryOneHasASecretOfItsOwn) {
  EXPECT_NE(JoinString::make(kHash, "").secret, JoinString::make(kHash, "").secret);
  EXPECT_NE(JoinString::make(kHash, "").id, JoinString::make(kHash, "").id);
}

TEST(JoinString, AnyCharacterMistypedIsNoticed) {
  const std::string good = JoinString::make(kHash, "host:1").to_string();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = bad[at] == '0' ? '1' : '0';
    const auto read = JoinString::parse(bad);
    ASSERT_FALSE(read.ok()) << at;
    EXPECT_EQ(read.code(), Code::invalid_argument);
    EXPECT_EQ(read.error().message.find(bad.substr(80)), std::string::npos) << "the secret is repeated";
  }
}

TEST(JoinString, EveryEndCutOffIsNoticed) {
  const std::string good = JoinString::make(kHash, "host:1").to_string();
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(JoinString::parse(good.substr(0, length)).ok()) << length;
  EXPECT_NE(JoinString::parse(good + "0").error().message.find("mistyped"), std::string::npos);
}

TEST(JoinString, AnotherTextIsCalledSo) {
  EXPECT_NE(JoinString::parse("192.168.1.10:7070").error().message.find("MG1"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::identity
