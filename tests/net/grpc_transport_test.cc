#include "mangrove/net/grpc_transport.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "tests/net/grpc_process.h"

#include "mangrove/net/grpc_status.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {
namespace {

TEST(GrpcTransport, MessagesSentBeforeTheReceiverJoinedComeFirst) {
  GrpcProcess sender, receiver;
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, receiver.address()}};
  const auto from = join(sender, "job", 0, addresses);
  const auto probe = join(receiver, "other job", 1, addresses);
  const auto from_probe = join(sender, "other job", 0, addresses);
  for (int i = 0; i < 5; ++i) from->send(1, 1, std::to_string(i));
  from_probe->send(1, 1, "came after them");
  ASSERT_EQ(receive(*probe, {0}, 1), "came after them");

  const auto to = join(receiver, "job", 1, addresses);
  for (int i = 5; i < 10; ++i) from->send(1, 1, std::to_string(i));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(receive(*to, {0}, 1), std::to_string(i));
}

TEST(GrpcTransport, JobsDoNotMix) {
  GrpcProcess sender, receiver;
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, receiver.address()}};
  const auto red_from = join(sender, "red", 0, addresses), blue_from = join(sender, "blue", 0, addresses);
  const auto red_to = join(receiver, "red", 1, addresses), blue_to = join(receiver, "blue", 1, addresses);
  red_from->send(1, 1, "red");
  blue_from->send(1, 1, "blue");
  EXPECT_EQ(receive(*blue_to, {0}, 1), "blue");
  EXPECT_EQ(receive(*red_to, {0}, 1), "red");

  Members members = all_alive(2);
  members.version = 1;
  members.all[0].alive = false;
  receiver.transport().set_members("red", members);
  EXPECT_EQ(outcome(*red_to, {0}, 1, kSoon), "unavailable");
  EXPECT_EQ(outcome(*blue_to, {0}, 1, kShort), "deadline_exceeded");
}

TEST(GrpcTransport, RanksOfOneProcessNeedNoNetwork) {
  GrpcProcess process;
  process.stop_server();
  const std::map<Rank, std::string> addresses = {{0, process.address()}, {1, process.address()}};
  const auto first = join(process, "job", 0, addresses), second = join(process, "job", 1, addresses);
  first->send(1, 1, "neighbour");
  EXPECT_EQ(receive(*second, {0}, 1), "neighbour");
  EXPECT_EQ(first->traffic().sent_bytes, 9);
  EXPECT_EQ(second->traffic().received_bytes, 9);
}

TEST(GrpcTransport, ShutdownSendsWhatIsQueued) {
  GrpcProcess sender, receiver;
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, receiver.address()}};
  auto from = join(sender, "job", 0, addresses);
  const auto to = join(receiver, "job", 1, addresses);
  for (int i = 0; i < 20; ++i) from->send(1, 1, std::string(1 << 20, static_cast<char>('a' + i)));
  from.reset();  // the messages outlive their endpoint
  sender.transport().shutdown(kSoon);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outcome(*to, {0}, 1, 0)[0], 'a' + i);
}

TEST(GrpcTransport, SendAfterShutdownIsHarmless) {
  GrpcProcess process;
  const auto endpoint = join(process, "job", 0, {{0, process.address()}, {1, "127.0.0.1:9"}});
  process.transport().shutdown(0);
  endpoint->send(1, 1, "too late");
  EXPECT_EQ(outcome(*endpoint, {1}, 1, 0), "deadline_exceeded");
}

TEST(GrpcTransport, JoinRefusesWhatCannotWork) {
  struct Case {
    const char* name;
    Rank rank;
    std::map<Rank, std::string> addresses;
    Members members;
    Code code;
  };
  Members gap = all_alive(3);
  gap.all.erase(gap.all.begin() + 1);
  const std::string here = "127.0.0.1:1", there = "127.0.0.1:2";
  const Case cases[] = {
      {"held already", 0, {{0, here}, {1, there}}, all_alive(2), Code::already_exists},
      {"rank outside", 2, {{0, here}, {1, there}}, all_alive(2), Code::invalid_argument},
      {"negative rank", -1, {{0, here}, {1, there}}, all_alive(2), Code::invalid_argument},
      {"address missing", 1, {{1, here}}, all_alive(2), Code::invalid_argument},
      {"ranks with a gap", 1, {{0, here}, {1, there}, {2, there}}, gap, Code::invalid_argument},
      {"no members", 0, {}, Members(), Code::invalid_argument},
  };
  GrpcProcess process;
  const auto held = join(process, "job", 0, {{0, here}, {1, there}});
  for (const Case& one : cases) {
    const auto endpoint = process.transport().join("job", one.rank, one.addresses, here, one.members);
    ASSERT_FALSE(endpoint.ok()) << one.name;
    EXPECT_EQ(endpoint.code(), one.code) << one.name;
  }
  process.transport().shutdown(0);
  EXPECT_EQ(process.transport().join("job", 1, {{0, here}, {1, here}}, here, all_alive(2)).code(), Code::cancelled);
}

/// Of a peer that keeps to no rule.
grpc::Status exchange_calls(const GrpcProcess& process, const char* link, const std::vector<Envelope>& envelopes) {
  return exchange(process, grpc::InsecureChannelCredentials(), link, envelopes);
}

Envelope envelope(const char* job, Rank from, Rank to, std::uint64_t sequence) {
  Envelope made;
  made.set_job(job);
  made.set_from(from);
  made.set_to(to);
  made.set_sequence(sequence);
  made.set_payload(std::to_string(sequence));
  return made;
}

TEST(GrpcTransport, StreamWithoutALinkIsRefused) {
  GrpcProcess process;
  EXPECT_EQ(exchange_calls(process, nullptr, {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(exchange_calls(process, "0123", {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(exchange_calls(process, "0123456789abcdeX", {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(exchange_calls(process, "0123456789abcdef", {}).ok());
}

TEST(GrpcTransport, EnvelopesThatMakeNoSenseAreDropped) {
  GrpcProcess process;
  const auto endpoint = join(process, "job", 0, {{0, process.address()}, {1, "127.0.0.1:9"}});
  const std::vector<Envelope> envelopes = {
      envelope("job", 7, 0, 1), envelope("job", -1, 0, 2),        envelope("job", 1, -4, 3), envelope("", 1, 0, 4),
      envelope("job", 1, 0, 0), envelope("no such job", 1, 0, 5), envelope("job", 1, 0, 6)};
  EXPECT_TRUE(exchange_calls(process, "0123456789abcdef", envelopes).ok());
  EXPECT_EQ(outcome(*endpoint, {kAnyRank}, 0, 0), "6");
  EXPECT_EQ(outcome(*endpoint, {kAnyRank}, 0, 0), "deadline_exceeded");
}

TEST(GrpcTransport, RepeatedEnvelopesAreDropped) {
  GrpcProcess process;
  const auto endpoint = join(process, "job", 0, {{0, process.address()}, {1, "127.0.0.1:9"}});
  const auto one = envelope("job", 1, 0, 1), two = envelope("job", 1, 0, 2), three = envelope("job", 1, 0, 3);
  EXPECT_TRUE(exchange_calls(process, "00000000000000aa", {one, two, two}).ok());
  EXPECT_TRUE(exchange_calls(process, "00000000000000aa", {one, two, three}).ok());
  EXPECT_TRUE(exchange_calls(process, "00000000000000bb", {one}).ok());
  for (const char* expected : {"1", "2", "3", "1"}) EXPECT_EQ(outcome(*endpoint, {1}, 0, 0), expected);
  EXPECT_EQ(outcome(*endpoint, {1}, 0, 0), "deadline_exceeded");
}

TEST(GrpcStatus, KeepsCodeAndMessage) {
  for (int number = 1; number <= 15; ++number) {
    if (number == 2) continue;  // unknown has no code of ours
    const Status status = make_error(static_cast<Code>(number), "why");
    const grpc::Status wire = to_grpc(status);
    EXPECT_EQ(static_cast<int>(wire.error_code()), number);
    EXPECT_EQ(from_grpc(wire).code(), status.code());
    EXPECT_EQ(from_grpc(wire).error().message, "why");
  }
  EXPECT_TRUE(to_grpc({}).ok());
  EXPECT_TRUE(from_grpc(grpc::Status::OK).ok());
  EXPECT_EQ(from_grpc({grpc::StatusCode::UNKNOWN, ""}).code(), Code::internal);
  EXPECT_EQ(from_grpc({grpc::StatusCode::UNAUTHENTICATED, ""}).code(), Code::permission_denied);
}

}  // namespace
}  // namespace mangrove::net
