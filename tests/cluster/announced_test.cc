#include "mangrove/cluster/announced.h"

#include <gtest/gtest.h>

namespace mangrove::cluster {
namespace {

std::string hash_of(char digit) {
  return std::string(64, digit);
}

TEST(Announced, NamesTheAuthoritiesOfTheClusterAndNoOther) {
  const std::string entry = announced_authorities({hash_of('a'), hash_of('b')});
  EXPECT_EQ(entry, "ca=aaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbb");
  EXPECT_TRUE(names_authority(entry, {hash_of('a')}));
  EXPECT_TRUE(names_authority(entry, {hash_of('c'), hash_of('b')}));
  EXPECT_FALSE(names_authority(entry, {hash_of('c')}));
  EXPECT_FALSE(names_authority(entry, {}));
}

TEST(Announced, FitsAnEntryOfATxtRecordWhateverTheNumberOfAuthorities) {
  const std::string entry = announced_authorities(std::vector<std::string>(100, hash_of('a')));
  EXPECT_LE(entry.size(), 255U);
  EXPECT_TRUE(names_authority(entry, {hash_of('a')}));
  EXPECT_EQ(announced_authorities({}), "ca=");
}

TEST(Announced, WhatNamesNoAuthorityWhollyNamesNone) {
  const std::string right(16, 'a');
  for (const std::string& entry : std::vector<std::string>{
           std::string(), std::string("ca"), std::string("ca="), "cb=" + right, "CA=" + right, right, " ca=" + right,
           "ca=a", "ca=" + right + "a", "ca=" + hash_of('a'), "ca=" + right + " ", "ca=" + right.substr(1),
           std::string("ca=") + std::string(16, '\0'), std::string("ca=,,,,,,,,,,,,"), "ca=;" + right})
    EXPECT_FALSE(names_authority(entry, {hash_of('a')})) << entry;
  EXPECT_TRUE(names_authority("ca=,x,\x1b[2J," + right + ",", {hash_of('a')}));
}

TEST(Announced, LooksAtEightNamesAtMost) {
  const std::string others = "ca=1,2,3,4,5,6,7,";
  EXPECT_TRUE(names_authority(others + std::string(16, 'a'), {hash_of('a')}));
  EXPECT_FALSE(names_authority(others + "8," + std::string(16, 'a'), {hash_of('a')}));
}

TEST(Announced, AnAddressIsOneOfAnotherMachine) {
  EXPECT_EQ(announced_address("192.168.1.12", 7070), "192.168.1.12:7070");
  EXPECT_EQ(announced_address("2001:db8::7", 1), "[2001:db8::7]:1");
  for (const char* host :
       {"", "pi", "127.0.0.1", "0.0.0.0", "224.0.0.251", "255.255.255.255", "::", "::1", "ff02::fb", "fe80::1",
        "fe80::1%eth0", "::ffff:127.0.0.1", "::127.0.0.1", "192.168.1.12:80", "192.168.1.12\x1b[2J"})
    EXPECT_EQ(announced_address(host, 7070), std::nullopt) << host;
  for (const int port : {0, -1, 65536}) EXPECT_EQ(announced_address("192.168.1.12", port), std::nullopt) << port;
}

}  // namespace
}  // namespace mangrove::cluster
