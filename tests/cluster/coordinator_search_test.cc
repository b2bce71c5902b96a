// Without a network to search; tests/cli/discovery_test.cc has one.
#include "mangrove/cluster/coordinator_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "tests/cluster/test_identity.h"

namespace mangrove::cluster {
namespace {

struct NoNetwork : ::testing::Test {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  NoNetwork() { ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1); }

  /// Notes the calls, and answers the n-th one with the n-th code, and further ones with the last; 0 is success.
  CoordinatorCall answers(const std::vector<int>& codes) {
    return [this, codes](const std::string& address, Deadline deadline) -> Status {
      calls.push_back(address);
      patience.push_back(deadline - SteadyClock().now());
      const int code = codes.at(std::min(calls.size(), codes.size()) - 1);
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

TEST_F(NoNetwork, WhoAnswersAtOnceAndIsNotTheCoordinatorIsNotAskedWithoutPause) {
  const SteadyClock clock;
  const Instant begin = clock.now();
  EXPECT_EQ(call_or_search("here:1", hashes, clock.after(3), {}, answers({kUnavailable})).code(), Code::unavailable);
  EXPECT_GE(clock.now() - begin, 2.9) << "the coordinator may come yet";
  EXPECT_GE(calls.size(), 4U);
  EXPECT_LE(calls.size(), 10U);
}

TEST_F(NoNetwork, WithoutAnAddressItWaitsForADaemonThatMayCome) {
  const SteadyClock clock;
  const Instant begin = clock.now();
  const Status called = call_or_search("", hashes, clock.after(2), {}, answers({}));
  ASSERT_EQ(called.code(), Code::unavailable) << "a caller may be more patient";
  for (const char* part : {"--coordinator", "cannot be searched"})
    EXPECT_NE(called.error().message.find(part), std::string::npos) << called.error().message;
  EXPECT_GE(clock.now() - begin, 1.9);
  EXPECT_TRUE(calls.empty());
}

TEST_F(NoNetwork, ASearchSaysWhyThereIsNone) {
  const auto found = search_coordinator(hashes, SteadyClock().after(3), {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.code(), Code::failed_precondition);
}

std::vector<identity::Certificate> shown_by(const identity::Identity& own) {
  return *identity::parse_certificates(own.chain_pem());
}

struct CheckCoordinator : ::testing::Test {
  /// Why somebody who shows this is not the coordinator; "": he is.
  std::string why_not(const std::optional<std::vector<identity::Certificate>>& shown) const {
    const Status checked = check_coordinator(shown, {std::string(64, 'a'), test_authority().certificate().hash()}, now);
    if (checked.ok()) return "";
    EXPECT_EQ(checked.code(), Code::permission_denied);
    return checked.error().message;
  }
  identity::Identity made_by(const identity::Authority& authority, identity::Role role) const {
    return identity::Identity::make(authority, {role, "c"}, identity::wall_now());
  }

  identity::WallTime now = identity::wall_now();
  const identity::Authority other = identity::Authority::make(now);
};

TEST_F(CheckCoordinator, TakesTheOneOfTheAuthority) {
  EXPECT_EQ(why_not(shown_by(made_by(test_authority(), identity::Role::coordinator))), "");
}

TEST_F(CheckCoordinator, WhoShowsTheAuthorityNeedsACertificateOfIt) {
  const identity::Certificate of_others = made_by(other, identity::Role::coordinator).certificate();
  for (const identity::Certificate& leaf : {of_others, other.certificate()}) {
    const std::string why = why_not({{leaf, test_authority().certificate()}});
    EXPECT_NE(why.find("another certificate authority"), std::string::npos) << why;
  }
}

TEST_F(CheckCoordinator, ANodeOfTheAuthorityIsNone) {
  EXPECT_EQ(why_not(shown_by(made_by(test_authority(), identity::Role::node))), "it is a node");
}

TEST_F(CheckCoordinator, OneWhoseCertificateHasExpiredIsNone) {
  const auto shown = shown_by(made_by(test_authority(), identity::Role::coordinator));
  now = shown.front().valid_to() + std::chrono::seconds(1);
  EXPECT_NE(why_not(shown).find("expired"), std::string::npos) << why_not(shown);
}

TEST_F(CheckCoordinator, OtherClustersAndPlainServicesAreNone) {
  EXPECT_EQ(why_not(shown_by(made_by(other, identity::Role::coordinator))), "it is of another cluster");
  EXPECT_EQ(why_not(std::nullopt), "it has no certificate");
}

}  // namespace
}  // namespace mangrove::cluster
