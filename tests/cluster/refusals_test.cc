#include "mangrove/cluster/refusals.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/base/hand_clock.h"
#include "tests/cluster/secure_cluster.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/rpc.h"

namespace mangrove::cluster {
namespace {

using Counts = std::map<std::string, std::int64_t>;

/// The lines that this writes into the log.
template <class Act>
std::size_t log_lines_of(Act act) {
  ::testing::internal::CaptureStderr();
  act();
  const std::string log = ::testing::internal::GetCapturedStderr();
  return static_cast<std::size_t>(std::ranges::count(log, '\n'));
}

TEST(Refusals, CountsByReason) {
  const testing::HandClock clock;
  Refusals refusals(clock);
  EXPECT_EQ(refusals.counts(), Counts());
  for (int i = 0; i < 3; ++i) refusals.count(Refusal::too_many_joins, "ipv4:10.0.0.7:1", "too many");
  refusals.count(Refusal::message_too_long);
  EXPECT_EQ(refusals.counts(), (Counts{{"too_many_joins", 3}, {"message_too_long", 1}}));
}

TEST(Refusals, EachReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  constexpr int kLast = static_cast<int>(Refusal::rank_of_another);
  for (int i = 0; i <= kLast; ++i) names.insert(refusal_name(static_cast<Refusal>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kLast) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Refusals, WritesOneLineInTenSecondsForEachReason) {
  testing::HandClock clock;
  Refusals refusals(clock);
  const auto refuse_often = [&] {
    for (int i = 0; i < 1000; ++i) refusals.count(Refusal::too_many_joins, "ipv4:10.0.0.7:1", "too many");
  };
  EXPECT_EQ(log_lines_of(refuse_often), 1u);
  EXPECT_EQ(log_lines_of([&] { refusals.count(Refusal::not_allowed); }), 1u) << "another reason";
  clock.sleep_until(Instant{109});
  EXPECT_EQ(log_lines_of(refuse_often), 0u);
  clock.sleep_until(Instant{110});
  ::testing::internal::CaptureStderr();
  refuse_often();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_NE(log.find("others_before=1999"), std::string::npos) << log;
  EXPECT_NE(log.find("peer=ipv4:10.0.0.7:1"), std::string::npos) << log;
}

TEST(Refusals, ACoordinatorTellsWhatItHasRefused) {
  TestCluster cluster(1);
  EXPECT_EQ(cluster.client()->status({})->refused_size(), 0);
  EXPECT_EQ(cluster.client(identity::Role::viewer)->run(scripted_job("echo"), nullptr, {}).code(),
            Code::permission_denied);
  EXPECT_EQ(cluster.client()->switch_scheduler(std::string(KiB(65), 'q')).code(), Code::resource_exhausted);
  const auto status = cluster.client()->status({});
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(Counts(status->refused().begin(), status->refused().end()),
            (Counts{{"not_allowed", 1}, {"message_too_long", 1}}));
}

TEST_F(SecureCluster, RefusedJoinsAndRenewalsAreCounted) {
  const auto stub = Enrolment::NewStub(
      open_channel(coordinator->address(),
                   net::stranger_credentials(registrar->authority().certificate(), {identity::Role::coordinator})));
  EnrolRequest without_key;
  without_key.set_request("no request for a certificate");
  for (const std::string& request : {std::string(), without_key.SerializeAsString()}) {
    grpc::ClientContext context;
    context.set_deadline(from_now(20));
    if (!request.empty()) context.AddMetadata(kEnrolMetadata, request);
    Signed answer;
    const auto call = stub->Enrol(&context, &answer);
    call->WritesDone();
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  const auto old = net::Credentials::of(identity::Identity::make(registrar->authority(), {identity::Role::node, "pi"},
                                                                 identity::wall_now() - std::chrono::days(21)));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(renew(coordinator->address(), *old).ok());
  EXPECT_EQ(renew(coordinator->address(), *old).code(), Code::resource_exhausted);
  const auto refused = admin()->status({})->refused();
  EXPECT_EQ(Counts(refused.begin(), refused.end()), (Counts{{"bad_join_string", 2}, {"too_many_renewals", 1}}));
}

}  // namespace
}  // namespace mangrove::cluster
