// Without a network to search; tests/cli/discovery_test.cc has one.
#include "mangrove/cluster/coordinator_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace mangrove::cluster {
namespace {

struct NoNetwork : ::testing::Test {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  NoNetwork() { ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1); }

  /// Notes the calls, and answers the n-th one with the n-th code; 0 is success.
  CoordinatorCall answers(const std::vector<int>& codes) {
    return [this, codes](const std::string& address, Deadline deadline) -> Status {
      calls.push_back(address);
      patience.push_back(deadline - SteadyClock().now());
      const int code = codes.at(calls.size() - 1);
      if (code == 0) return {};
      return make_error(static_cast<Code>(code), "no answer");
    };
  }
  static constexpr int kUnavailable = static_cast<int>(Code::unavailable);

  const std::vector<std::string> hashes{std::string(64, 'a')};
  std::vector<std::string> calls;
  std::vector<Seconds> patience;
};

TEST_F(NoNetwork, WhereTheCoordinatorAnswersThereIsNoSearch) {
  EXPECT_TRUE(call_or_search("here:1", hashes, SteadyClock().after(10), {}, answers({0})).ok());
  EXPECT_EQ(calls, std::vector<std::string>{"here:1"});
}

TEST_F(NoNetwork, AnAnswerThatSaysNoIsNotSearchedPast) {
  const Status called = call_or_search("here:1", hashes, SteadyClock().after(10), {},
                                       answers({static_cast<int>(Code::permission_denied)}));
  EXPECT_EQ(called.code(), Code::permission_denied);
  EXPECT_EQ(calls.size(), 1U);
}

TEST_F(NoNetwork, TheAddressIsTriedForTheWholeTimeIfThereIsNothingElse) {
  EXPECT_TRUE(call_or_search("here:1", hashes, SteadyClock().after(10), {}, answers({kUnavailable, 0})).ok());
  EXPECT_EQ(calls, (std::vector<std::string>{"here:1", "here:1"}));
  EXPECT_LE(patience[0], 3);
  EXPECT_GT(patience[1], 5);
}

TEST_F(NoNetwork, TheErrorSaysThatNothingAnswersAndWhyThereWasNoSearch) {
  const Status called =
      call_or_search("here:1", hashes, SteadyClock().after(1), {}, answers({kUnavailable, kUnavailable}));
  ASSERT_EQ(called.code(), Code::unavailable);
  EXPECT_EQ(called.error().message.find("no answer; the local network cannot be searched from here (Avahi: "), 0U)
      << called.error().message;
}

TEST_F(NoNetwork, WithoutAnAddressItFailsAtOnce) {
  const SteadyClock clock;
  const Instant begin = clock.now();
  const Status called = call_or_search("", hashes, clock.after(600), {}, answers({}));
  ASSERT_EQ(called.code(), Code::failed_precondition);
  EXPECT_NE(called.error().message.find("--coordinator"), std::string::npos) << called.error().message;
  EXPECT_LT(clock.now() - begin, 60);
  EXPECT_TRUE(calls.empty());
}

TEST_F(NoNetwork, ASearchSaysWhyThereIsNone) {
  const auto found = search_coordinator(hashes, SteadyClock().after(3), {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.code(), Code::failed_precondition);
}

}  // namespace
}  // namespace mangrove::cluster
