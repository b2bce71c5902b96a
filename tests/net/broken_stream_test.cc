// Links between two processes whose connection breaks, freezes or carries rubbish.

#include <gtest/gtest.h>

#include <thread>

#include "tests/net/grpc_process.h"
#include "tests/net/relay.h"

#include "mangrove/base/random.h"

namespace mangrove::net {
namespace {

constexpr Seconds kPrompt = 10;  // a shutdown that waited for a frozen peer would take for ever

/// Two processes; what rank 0 sends to rank 1 goes through the relay.
struct Pair {
  GrpcProcess sender, receiver;
  Relay relay{receiver.port()};
  std::unique_ptr<Endpoint> from =
      join(sender, "job", 0, {{0, sender.address()}, {1, GrpcProcess::local_address(relay.port())}});
  std::unique_ptr<Endpoint> to = join(receiver, "job", 1, {{0, sender.address()}, {1, receiver.address()}});
};

/// Number `i`, with a tail that makes messages of many lengths.
std::string numbered(int i) {
  return std::to_string(i) + std::string(static_cast<std::size_t>(i * 37 % 5000), '.');
}

void expect_each_once(Endpoint& endpoint, int messages) {
  for (int i = 0; i < messages; ++i) ASSERT_EQ(receive(endpoint, {0}, 1), numbered(i)) << "message " << i;
  EXPECT_EQ(outcome(endpoint, {0}, 1, kShort), "deadline_exceeded");  // none came twice
}

class CutTest : public ::testing::TestWithParam<int> {};

TEST_P(CutTest, NothingIsLostDoubledOrOvertaken) {
  constexpr int kMessages = 400;  // a megabyte
  Pair pair;
  pair.relay.cut_after(GetParam());
  for (int i = 0; i < kMessages; ++i) pair.from->send(1, 1, numbered(i));
  expect_each_once(*pair.to, kMessages);
  EXPECT_EQ(pair.relay.cuts(), 1);
}

INSTANTIATE_TEST_SUITE_P(AfterBytes, CutTest,
                         ::testing::Values(0, 1, 24, 100, 300, 1'000, 5'000, 20'000, 70'000, 200'000, 500'000,
                                           900'000));

TEST(BrokenStream, CutAgainAndAgain) {
  constexpr int kCuts = 12, kMessagesEach = 200;  // half a megabyte
  Pair pair;
  Random random(11);
  for (int cut = 0; cut < kCuts; ++cut) {
    pair.relay.cut_after(static_cast<std::int64_t>(random.below(300'000)));
    for (int i = 0; i < kMessagesEach; ++i) pair.from->send(1, 1, numbered(cut + i));
    for (int i = 0; i < kMessagesEach; ++i) ASSERT_EQ(receive(*pair.to, {0}, 1), numbered(cut + i)) << "cut " << cut;
  }
  EXPECT_EQ(pair.relay.cuts(), kCuts);
}

TEST(BrokenStream, IsRepairedWithoutAnotherSend) {
  Pair pair;
  pair.from->send(1, 2, "connected");
  ASSERT_EQ(receive(*pair.to, {0}, 2), "connected");
  pair.relay.cut_after(0);  // the next message gets as far as the relay
  pair.from->send(1, 1, "only one");
  EXPECT_EQ(receive(*pair.to, {0}, 1), "only one");
}

TEST(BrokenStream, ServerThatRestartsMissesNothing) {
  constexpr int kMessages = 600;
  GrpcProcess sender, receiver;
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, receiver.address()}};
  const auto from = join(sender, "job", 0, addresses), to = join(receiver, "job", 1, addresses);
  for (int i = 0; i < kMessages; ++i) {
    from->send(1, 1, numbered(i));
    if (i % 200 == 100) receiver.stop_server();
    if (i % 200 == 150) receiver.start_server();
  }
  expect_each_once(*to, kMessages);
}

TEST(BrokenStream, PeerThatStartsLaterGetsEverything) {
  GrpcProcess sender, receiver;
  receiver.stop_server();
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, receiver.address()}};
  const auto from = join(sender, "job", 0, addresses), to = join(receiver, "job", 1, addresses);
  for (int i = 0; i < 10; ++i) from->send(1, 1, numbered(i));
  EXPECT_EQ(outcome(*to, {0}, 1, kShort), "deadline_exceeded");
  receiver.start_server();
  expect_each_once(*to, 10);
}

// Attempts that were given up and begun again would add to the work of a board that many connect to at once.
TEST(BrokenStream, OneAttemptToConnectOutlastsASlowBeginning) {
  Pair pair;
  pair.relay.freeze();
  pair.from->send(1, 1, "slowly");
  EXPECT_EQ(outcome(*pair.to, {0}, 1, 4), "deadline_exceeded");
  pair.relay.thaw();
  EXPECT_EQ(receive(*pair.to, {0}, 1), "slowly");
  EXPECT_EQ(pair.relay.taken(), 1);
}

TEST(FrozenPeer, DelaysNeitherSendNorOthersNorShutdown) {
  auto sender = std::make_unique<GrpcProcess>();
  GrpcProcess receiver, other;
  Relay relay(receiver.port());
  std::map<Rank, std::string> addresses = {
      {0, sender->address()}, {1, GrpcProcess::local_address(relay.port())}, {2, other.address()}};
  auto from = join(*sender, "job", 0, addresses);
  addresses[1] = receiver.address();
  const auto frozen = join(receiver, "job", 1, addresses), lively = join(other, "job", 2, addresses);
  from->send(1, 1, "connected");
  ASSERT_EQ(receive(*frozen, {0}, 1), "connected");
  relay.freeze();

  const SteadyClock clock;
  const Instant before = clock.now();
  for (int i = 0; i < 40; ++i) from->send(1, 1, std::string(1 << 20, 'x'));  // more than any buffer on the way
  from->send(2, 1, "past it");
  EXPECT_EQ(receive(*lively, {0}, 1), "past it");
  from.reset();
  sender->transport().shutdown(0.2);
  EXPECT_LT(clock.now() - before, kPrompt);
  sender.reset();
  EXPECT_LT(clock.now() - before, kPrompt);
}

TEST(FrozenPeer, ThatNeverAnsweredDoesNotDelayShutdown) {
  const Socket silent = listen_locally();  // the system accepts, nobody answers
  const SteadyClock clock;
  const Instant before = clock.now();
  {
    GrpcProcess process;
    const auto endpoint =
        join(process, "job", 0, {{0, process.address()}, {1, GrpcProcess::local_address(port_of(silent))}});
    endpoint->send(1, 1, "anybody there?");
    process.transport().shutdown(0.1);
  }
  EXPECT_LT(clock.now() - before, kPrompt);
}

TEST(FrozenPeer, DeclaredLostAndOthersOnItsLinkGoOn) {
  // ranks 1 and 2 live in one process; rank 1 is declared lost while much waits for it
  GrpcProcess sender, receiver;
  const std::map<Rank, std::string> addresses = {
      {0, sender.address()}, {1, receiver.address()}, {2, receiver.address()}};
  const auto from = join(sender, "job", 0, addresses);
  const auto lost = join(receiver, "job", 1, addresses), alive = join(receiver, "job", 2, addresses);
  receiver.stop_server();
  for (int i = 0; i < 20; ++i) {
    from->send(1, 1, std::string(1 << 20, 'x'));
    from->send(2, 1, std::to_string(i));
  }
  Members members = all_alive(3);
  members.version = 1;
  members.all[1].alive = false;
  sender.transport().set_members("job", members);
  receiver.start_server();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(receive(*alive, {0}, 1), std::to_string(i));
  // at most the one that was being written when the news came
  EXPECT_LE(lost->traffic().received_bytes, 2 << 20);
}

TEST(Rubbish, OnThePortDisturbsNobody) {
  GrpcProcess first, second;
  const std::map<Rank, std::string> addresses = {{0, first.address()}, {1, second.address()}};
  const auto from = join(first, "job", 0, addresses), to = join(second, "job", 1, addresses);
  Random random(5);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.next());
  const std::string http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& bytes : {noise, http2 + noise, http2, std::string("GET / HTTP/1.1\r\n\r\n"), std::string()}) {
    const Socket stranger = connect_locally(second.port());
    write_all(stranger, bytes);
    from->send(1, 1, "still here");
    EXPECT_EQ(receive(*to, {0}, 1), "still here");
  }
}

}  // namespace
}  // namespace mangrove::net
