// What every Endpoint promises, run over each implementation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <tuple>

#include "tests/net/world.h"

#include "mangrove/base/random.h"

namespace mangrove::net {
namespace {

class EndpointTest : public ::testing::TestWithParam<WorldKind> {
 protected:
  std::unique_ptr<World> make(int size) { return GetParam().make(size); }
};

std::string kind_name(const ::testing::TestParamInfo<WorldKind>& info) {
  return info.param.name;
}

std::string random_bytes(std::size_t size) {
  Random random(size + 1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

TEST_P(EndpointTest, MessagesOfOneSenderAndTagKeepTheirOrder) {
  const auto world = make(2);
  constexpr int kMessages = 500;
  for (int i = 0; i < kMessages; ++i) {
    world->endpoint(0).send(1, 7, "seven " + std::to_string(i));
    world->endpoint(0).send(1, 8, "eight " + std::to_string(i));
  }
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(receive(world->endpoint(1), {0}, 8), "eight " + std::to_string(i));
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(receive(world->endpoint(1), {0}, 7), "seven " + std::to_string(i));
}

TEST_P(EndpointTest, MessageSaysWhoSentItAndWhatFor) {
  const auto world = make(3);
  world->endpoint(2).send(0, 4'000'000'000, "text");
  const Result<Message> message = world->endpoint(0).recv({1, 2}, 4'000'000'000, soon());
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->from, 2);
  EXPECT_EQ(message->tag, 4'000'000'000);
  EXPECT_EQ(message->payload, "text");
}

TEST_P(EndpointTest, PayloadsOfAllSizesArriveWhole) {
  const auto world = make(2);
  const std::size_t sizes[] = {0, 1, 64 << 10, 5 << 20, 0, 3};
  for (const std::size_t size : sizes) world->endpoint(0).send(1, 1, random_bytes(size));
  for (const std::size_t size : sizes) EXPECT_TRUE(receive(world->endpoint(1), {0}, 1) == random_bytes(size)) << size;
}

TEST_P(EndpointTest, RankSendsToItself) {
  const auto world = make(2);
  world->endpoint(1).send(1, 3, "note");
  EXPECT_EQ(receive(world->endpoint(1), {1}, 3), "note");
}

TEST_P(EndpointTest, ReceivesOnlyFromTheRanksAndTagsAskedFor) {
  const auto world = make(3);
  world->endpoint(0).send(2, 1, "from 0");
  world->endpoint(1).send(2, 1, "from 1");
  world->endpoint(1).send(2, 2, "other tag");
  EXPECT_EQ(receive(world->endpoint(2), {1}, 1), "from 1");
  EXPECT_EQ(receive(world->endpoint(2), {0, 1}, 1), "from 0");
  EXPECT_EQ(outcome(world->endpoint(2), {0, 1}, 1, kShort), "deadline_exceeded");
  EXPECT_EQ(receive(world->endpoint(2), {0, 1}, 2), "other tag");
}

TEST_P(EndpointTest, RecvAnyTakesTheOldestOfAllItsTags) {
  const auto world = make(2);
  world->endpoint(0).send(1, 5, "first");
  world->endpoint(0).send(1, 6, "second");
  world->endpoint(0).send(1, 5, "third");
  world->endpoint(0).send(1, 9, "all sent");
  ASSERT_EQ(receive(world->endpoint(1), {0}, 9), "all sent");
  for (const char* expected : {"first", "second", "third"}) {
    const Result<Message> message = world->endpoint(1).recv_any({0}, {6, 5}, soon());
    ASSERT_TRUE(message.ok()) << message.error().message;
    EXPECT_EQ(message->payload, expected);
  }
}

TEST_P(EndpointTest, AnyRankReceivesFromEveryone) {
  const auto world = make(3);
  world->endpoint(1).send(0, 1, "1");
  world->endpoint(2).send(0, 1, "2");
  std::string got = receive(world->endpoint(0), {kAnyRank}, 1) + receive(world->endpoint(0), {kAnyRank}, 1);
  std::ranges::sort(got);
  EXPECT_EQ(got, "12");
}

TEST_P(EndpointTest, AnyRankIsUnavailableOnlyWhenNoOtherRankIsAlive) {
  const auto world = make(3);
  world->kill(1);
  EXPECT_EQ(outcome(world->endpoint(0), {kAnyRank}, 1, kShort), "deadline_exceeded");
  world->kill(2);
  EXPECT_EQ(outcome(world->endpoint(0), {kAnyRank}, 1, kSoon), "unavailable");
}

TEST_P(EndpointTest, SilenceEndsWithDeadlineExceeded) {
  const auto world = make(2);
  const SteadyClock clock;
  const Instant before = clock.now();
  EXPECT_EQ(outcome(world->endpoint(0), {1}, 1, kShort), "deadline_exceeded");
  EXPECT_GE(clock.now() - before, kShort);
  EXPECT_EQ(outcome(world->endpoint(0), {1}, 1, -1), "deadline_exceeded");
}

TEST_P(EndpointTest, WaitingMessageIsTakenAlsoAfterTheDeadline) {
  const auto world = make(2);
  world->endpoint(1).send(0, 1, "late reader");
  world->endpoint(1).send(0, 2, "all sent");
  ASSERT_EQ(receive(world->endpoint(0), {1}, 2), "all sent");
  EXPECT_EQ(outcome(world->endpoint(0), {1}, 1, -1), "late reader");
}

TEST_P(EndpointTest, CancelWakesABlockedRecvAndAllLaterOnes) {
  const auto world = make(2);
  std::string blocked;
  {
    std::jthread receiver([&] { blocked = outcome(world->endpoint(0), {1}, 1, kSoon); });
    world->endpoint(0).cancel();
  }
  EXPECT_EQ(blocked, "cancelled");
  world->endpoint(0).send(0, 1, "too late");
  EXPECT_EQ(outcome(world->endpoint(0), {0}, 1, kShort), "cancelled");
}

TEST_P(EndpointTest, LossOfARankWakesThoseWhoWaitForIt) {
  const auto world = make(3);
  std::string waiting_for_lost, waiting_for_other;
  {
    std::jthread first([&] { waiting_for_lost = outcome(world->endpoint(0), {1, 2}, 1, kSoon); });
    std::jthread second([&] { waiting_for_other = outcome(world->endpoint(0), {1}, 2, kSoon); });
    world->kill(2);
    world->endpoint(1).send(0, 2, "alive");
  }
  EXPECT_EQ(waiting_for_lost, "unavailable");
  EXPECT_EQ(waiting_for_other, "alive");
  const Members members = world->endpoint(0).members();
  EXPECT_GT(members.version, 0u);
  EXPECT_EQ(members.alive_ranks(), (RankSet{0, 1}));
  EXPECT_EQ(world->endpoint(0).size(), 3);
}

TEST_P(EndpointTest, MessagesThatCameBeforeTheLossAreStillDelivered) {
  const auto world = make(3);
  world->endpoint(2).send(0, 1, "last words");
  world->endpoint(2).send(0, 2, "all sent");
  ASSERT_EQ(receive(world->endpoint(0), {2}, 2), "all sent");
  world->kill(2);
  EXPECT_EQ(outcome(world->endpoint(0), {1, 2}, 1, kSoon), "last words");
  EXPECT_EQ(outcome(world->endpoint(0), {1, 2}, 1, kSoon), "unavailable");
}

TEST_P(EndpointTest, SendingToALostRankIsHarmless) {
  const auto world = make(3);
  world->kill(2);
  for (int i = 0; i < 10; ++i) world->endpoint(0).send(2, 1, random_bytes(64 << 10));
  world->endpoint(0).send(1, 1, "next");
  EXPECT_EQ(receive(world->endpoint(1), {0}, 1), "next");
}

TEST_P(EndpointTest, TrafficCountsPayloadsAtBothEnds) {
  const auto world = make(2);
  world->endpoint(0).send(1, 1, random_bytes(100'000));
  ASSERT_EQ(receive(world->endpoint(1), {0}, 1).size(), 100'000u);
  // an answer on the same way: by then the first message has been counted as sent
  world->endpoint(0).send(1, 1, random_bytes(50'000));
  ASSERT_EQ(receive(world->endpoint(1), {0}, 1).size(), 50'000u);
  EXPECT_GE(world->endpoint(0).traffic().sent_bytes, 100'000);
  EXPECT_GE(world->endpoint(1).traffic().received_bytes, 150'000);
  EXPECT_LE(world->endpoint(1).traffic().received_bytes, 150'400);
  EXPECT_EQ(world->endpoint(1).traffic().sent_bytes, 0);
}

TEST_P(EndpointTest, TrafficIsCountedByPeerAndPurpose) {
  constexpr Tag kGradients = make_tag(Purpose::gradients, 7), kParameters = make_tag(Purpose::parameters, 8);
  constexpr Tag kStrange = 0xff000001;  // of no purpose that there is
  const auto world = make(3);
  world->endpoint(0).send(1, kGradients, random_bytes(40'000));
  world->endpoint(0).send(1, kGradients, random_bytes(30'000));
  world->endpoint(0).send(2, kParameters, random_bytes(20'000));
  world->endpoint(1).send(0, 7, random_bytes(10'000));
  world->endpoint(2).send(0, kStrange, random_bytes(5'000));
  receive(world->endpoint(1), {0}, kGradients);
  receive(world->endpoint(1), {0}, kGradients);
  receive(world->endpoint(2), {0}, kParameters);
  receive(world->endpoint(0), {1}, 7);
  receive(world->endpoint(0), {2}, kStrange);

  const auto about = [](std::int64_t counted, std::int64_t payload) {
    return counted >= payload && counted <= payload + 400;  // with framing
  };
  const Traffic first = world->endpoint(1).traffic(), zero = world->endpoint(0).traffic();
  EXPECT_TRUE(about(first.by_peer.at({0, Purpose::gradients}).received_bytes, 70'000));
  EXPECT_TRUE(about(world->endpoint(2).traffic().by_peer.at({0, Purpose::parameters}).received_bytes, 20'000));
  EXPECT_TRUE(about(zero.by_peer.at({1, Purpose::control}).received_bytes, 10'000));
  EXPECT_TRUE(about(zero.by_peer.at({2, Purpose::control}).received_bytes, 5'000));
  EXPECT_FALSE(zero.by_peer.contains({0, Purpose::control})) << "it has sent itself nothing";
  Flow sum;
  for (const auto& [key, flow] : zero.by_peer) sum += flow;
  EXPECT_EQ(sum.received_bytes, zero.received_bytes);
}

INSTANTIATE_TEST_SUITE_P(Every, EndpointTest, ::testing::ValuesIn(world_kinds()), kind_name);

class AllToAllTest : public ::testing::TestWithParam<std::tuple<WorldKind, int>> {};

/// What rank `from` tells rank `to` in one round.
int number(Rank from, Rank to, int round) {
  return 10'000 * round + 100 * from + to;
}

/// Sends to everyone and adds up what everyone sends, round after round without waiting for the slower ones.
std::int64_t exchange(Endpoint& endpoint, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Rank to = 0; to < endpoint.size(); ++to) {
      endpoint.send(to, 1, std::to_string(number(endpoint.rank(), to, round)));
    }
  }
  std::int64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (Rank from = 0; from < endpoint.size(); ++from) {
      const std::string payload = receive(endpoint, {from}, 1);
      EXPECT_EQ(payload, std::to_string(number(from, endpoint.rank(), round)));
      sum += std::atoi(payload.c_str());
    }
  }
  return sum;
}

TEST_P(AllToAllTest, EveryRankGetsEveryNumberOnce) {
  constexpr int kRounds = 20;
  const auto [kind, size] = GetParam();
  const auto world = kind.make(size);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> ranks;
    for (Rank rank = 0; rank < size; ++rank) {
      ranks.emplace_back(
          [&, rank] { sums[static_cast<std::size_t>(rank)] = exchange(world->endpoint(rank), kRounds); });
    }
  }
  for (Rank rank = 0; rank < size; ++rank) {
    std::int64_t expected = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (Rank from = 0; from < size; ++from) expected += number(from, rank, round);
    }
    EXPECT_EQ(sums[static_cast<std::size_t>(rank)], expected) << "rank " << rank;
  }
}

std::string world_name(const ::testing::TestParamInfo<std::tuple<WorldKind, int>>& world) {
  return std::string(std::get<0>(world.param).name) + "_" + std::to_string(std::get<1>(world.param));
}

INSTANTIATE_TEST_SUITE_P(Every, AllToAllTest,
                         ::testing::Combine(::testing::ValuesIn(world_kinds()), ::testing::Values(1, 2, 3, 5, 8)),
                         world_name);

}  // namespace
}  // namespace mangrove::net
