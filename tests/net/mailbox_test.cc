#include "mangrove/net/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/net/world.h"

namespace mangrove::net {
namespace {

Members without(Rank lost, int size, std::uint64_t version) {
  Members members = all_alive(size);
  members.version = version;
  members.all[static_cast<std::size_t>(lost)].alive = false;
  return members;
}

TEST(Mailbox, DropsMessagesFromTheLostAndTheUnknown) {
  Mailbox mailbox(0, without(1, 3, 1));
  mailbox.deliver({1, 9, "lost"});
  mailbox.deliver({7, 9, "unknown"});
  mailbox.deliver({2, 9, "alive"});
  const Result<Message> message = mailbox.recv({1, 2, 7}, {9}, soon());
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->payload, "alive");
  EXPECT_EQ(mailbox.recv({2}, {9}, SteadyClock().now()).code(), Code::deadline_exceeded);
}

TEST(Mailbox, RankOutsideTheJobIsGone) {
  Mailbox mailbox(0, all_alive(2));
  EXPECT_EQ(mailbox.recv({5}, {9}, soon()).code(), Code::unavailable);
}

TEST(Mailbox, OlderNewsDoesNotReviveARank) {
  Mailbox mailbox(0, all_alive(2));
  mailbox.set_members(without(1, 2, 4));
  Members older = all_alive(2);
  older.version = 3;
  mailbox.set_members(older);
  EXPECT_FALSE(mailbox.alive(1));
  EXPECT_EQ(mailbox.members().version, 4u);
}

TEST(Mailbox, ErrorSaysWhoWaitedForWhat) {
  Mailbox mailbox(3, all_alive(4));
  EXPECT_EQ(mailbox.recv({1, 2}, {8, 9}, SteadyClock().now()).error().message,
            "rank 3: a message with tag 8, 9 from rank 1, 2 did not come in time");
}

TEST(Mailbox, OfManyRanksTheOldestMessageComesFirst) {
  Mailbox mailbox(0, all_alive(100));
  RankSet ranks;
  for (Rank rank = 1; rank < 100; rank += 2) ranks.push_back(rank);
  EXPECT_FALSE(mailbox.poll(ranks, {9}));
  mailbox.deliver({2, 9, "not asked for"});
  mailbox.deliver({99, 9, "first"});
  mailbox.deliver({1, 9, "second"});
  for (const char* expected : {"first", "second"}) {
    const auto found = mailbox.poll(ranks, {9});
    ASSERT_TRUE(found && found->ok());
    EXPECT_EQ((*found)->payload, expected);
  }
  EXPECT_FALSE(mailbox.poll(ranks, {9}));
}

TEST(Mailbox, ThreadsWaitingForDifferentTagsEachGetTheirs) {
  constexpr int kThreads = 8;
  Mailbox mailbox(0, all_alive(2));
  std::vector<std::string> got(kThreads);
  {
    std::vector<std::jthread> receivers;
    for (Tag tag = 0; tag < kThreads; ++tag) {
      receivers.emplace_back([&, tag] {
        Result<Message> message = mailbox.recv({1}, {tag}, soon());
        if (message.ok()) got[tag] = message->payload;
      });
    }
    for (Tag tag = kThreads; tag-- > 0;) mailbox.deliver({1, tag, std::to_string(tag)});
  }
  for (Tag tag = 0; tag < kThreads; ++tag) EXPECT_EQ(got[tag], std::to_string(tag));
}

TEST(Mailbox, ManyWaitingMessagesDoNotSlowDownOthers) {
  constexpr int kWaiting = 200'000;
  Mailbox mailbox(0, all_alive(2));
  for (int i = 0; i < kWaiting; ++i) mailbox.deliver({1, 1, ""});
  const Deadline deadline = soon();
  for (int i = 0; i < kWaiting; ++i) {
    mailbox.deliver({1, 2, ""});
    ASSERT_TRUE(mailbox.recv({1}, {2}, deadline).ok());
  }
}

TEST(Mailbox, RefusesWhatFindsNoRoomAndGivesItBackWhenItIsRead) {
  const auto room = std::make_shared<WaitingRoom>(/*of_one=*/4'000, /*of_all=*/6'000);
  const std::string kilobyte(1'000, 'x');
  const auto fill = [&](Mailbox& mailbox, Rank from) {
    int taken = 0;
    while (mailbox.deliver({from, 9, kilobyte})) ++taken;
    return taken;
  };
  const auto members = std::make_shared<const Members>(all_alive(4));
  Mailbox mailbox(0, members, std::make_shared<SteadyClock>(), room);
  EXPECT_EQ(fill(mailbox, 1), 3) << "each takes some bytes more";
  EXPECT_EQ(fill(mailbox, 2), 1) << "of all";
  ASSERT_TRUE(mailbox.recv({1}, {9}, SteadyClock().now()).ok());
  EXPECT_EQ(fill(mailbox, 1), 1) << "room again";
  {
    Mailbox other(1, members, std::make_shared<SteadyClock>(), room);
    EXPECT_FALSE(other.deliver({2, 9, kilobyte})) << "all mailboxes share it";
    mailbox.cancel();
    EXPECT_EQ(fill(other, 2), 3) << "what nobody reads any more takes none";
  }
  Mailbox last(2, members, std::make_shared<SteadyClock>(), room);
  EXPECT_TRUE(last.deliver({3, 9, std::string(5'000, 'x')})) << "one message may be longer than what one sender has";
}

}  // namespace
}  // namespace mangrove::net
