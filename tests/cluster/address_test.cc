#include "mangrove/cluster/address.h"

#include <gtest/gtest.h>

namespace mangrove::cluster {
namespace {

TEST(ParseHostPort, ReadsHostAndPort) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  const Case cases[] = {{"127.0.0.1:7070", "127.0.0.1", 7070},
                        {"edge.local:0", "edge.local", 0},
                        {"[::1]:65535", "::1", 65535},
                        {"0.0.0.0:1", "0.0.0.0", 1}};
  for (const Case& c : cases) {
    const Result<HostPort> address = parse_host_port(c.text);
    ASSERT_TRUE(address.ok()) << c.text;
    EXPECT_EQ(address->host, c.host);
    EXPECT_EQ(address->port, c.port);
    EXPECT_EQ(address->to_string(), c.text);
  }
}

TEST(ParseHostPort, RefusesWhatIsNoAddressAndQuotesIt) {
  for (const std::string text : {"", "host", ":7070", "host:", "host:65536", "host:-1", "host:7x", "host: 7",
                                 "::1:7070", "http://host:7070", "a b:1", "[::1]7070", "host:99999999999999999999"}) {
    const Result<HostPort> address = parse_host_port(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.code(), Code::invalid_argument);
    EXPECT_NE(address.error().message.find("'" + text + "'"), std::string::npos) << address.error().message;
  }
}

TEST(HostPort, KnowsWildcards) {
  EXPECT_TRUE((HostPort{"0.0.0.0", 1}).is_wildcard());
  EXPECT_TRUE((HostPort{"::", 1}).is_wildcard());
  EXPECT_FALSE((HostPort{"127.0.0.1", 1}).is_wildcard());
}

TEST(LocalHostTowards, IsTheLoopbackForThisMachine) {
  const Result<std::string> host = local_host_towards({"127.0.0.1", 7070});
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(*host, "127.0.0.1");
}

TEST(LocalHostTowards, NamesAHostThatIsUnknown) {
  const Result<std::string> host = local_host_towards({"no-such-host.invalid", 7070});
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.code(), Code::unavailable);
  EXPECT_NE(host.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST(PublicHost, IsAnAddress) {
  EXPECT_TRUE(parse_host_port(public_host() + ":1").ok());
}

TEST(Reachable, HasAHostInPlaceOfAWildcard) {
  EXPECT_EQ(reachable("127.0.0.1:7070"), "127.0.0.1:7070");
  EXPECT_EQ(reachable("edge.local:7070"), "edge.local:7070");
  EXPECT_EQ(reachable("0.0.0.0:7070"), (HostPort{public_host(), 7070}.to_string()));
  EXPECT_EQ(reachable("unix:/socket"), "unix:/socket");
}

TEST(PublicHost, IsThatOfTheDefaultRouteWhereThereIsOne) {
  const Result<std::string> by_route = local_host_towards({"192.0.2.1", 9});
  if (by_route.ok()) {
    EXPECT_EQ(public_host(), *by_route);
  } else {
    EXPECT_NE(public_host(), "");
  }
}

TEST(CheckCanListen, SaysThatAnAddressIsNotOurs) {
  const Status status = check_can_listen({"192.0.2.1", 7070});  // reserved for documentation
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("192.0.2.1"), std::string::npos);
  EXPECT_EQ(check_can_listen({"no-such-host.invalid", 7070}).code(), Code::invalid_argument);
  EXPECT_TRUE(check_can_listen({"127.0.0.1", 0}).ok());
}

}  // namespace
}  // namespace mangrove::cluster
