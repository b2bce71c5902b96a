#include "mangrove/cluster/rate_limit.h"

#include <gtest/gtest.h>

namespace mangrove::cluster {
namespace {

TEST(RateLimit, SomebodyMaySoOftenAMinuteAndOthersToo) {
  RateLimit limit("joins from one address", 2);
  const Instant now{100};
  EXPECT_TRUE(limit.take("ann", now).ok());
  EXPECT_TRUE(limit.take("ann", now + 1).ok());
  const Status refused = limit.take("ann", now + 59);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_EQ(refused.error().message, "too many joins from one address within a minute: at most 2; try again later");
  EXPECT_TRUE(limit.take("ben", now + 59).ok());
  EXPECT_TRUE(limit.take("ann", now + 60).ok());
}

TEST(RateLimit, ManyOthersDoNotMakeItForgetSomebody) {
  RateLimit limit("tries", 1);
  EXPECT_TRUE(limit.take("ann", Instant{0}).ok());
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(limit.take(std::to_string(i), Instant{1}).ok());
  EXPECT_FALSE(limit.take("ann", Instant{2}).ok());
}

TEST(AddressOf, LeavesThePortOut) {
  EXPECT_EQ(address_of("ipv4:192.168.1.10:40312"), "ipv4:192.168.1.10");
  EXPECT_EQ(address_of("ipv6:%5B::1%5D:40312"), "ipv6:%5B::1%5D");
}

}  // namespace
}  // namespace mangrove::cluster
