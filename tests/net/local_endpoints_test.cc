#include "mangrove/net/local_endpoints.h"

#include <gtest/gtest.h>

#include "tests/net/world.h"

namespace mangrove::net {
namespace {

std::string waiting(LocalRank& rank) {
  const Result<Message> message = rank.mailbox.recv({kAnyRank}, {1}, SteadyClock().now());
  return message.ok() ? message->payload : code_name(message.code());
}

void deliver(LocalEndpoints& jobs, const std::string& job, Rank to, const std::string& payload) {
  jobs.deliver(job, to, {0, 1, payload}, payload.size());
}

TEST(LocalEndpoints, KeepsMessagesOnlyForTheRankTheyAreFor) {
  LocalEndpoints jobs;
  deliver(jobs, "job", 1, "first");
  deliver(jobs, "job", 2, "for 2");
  deliver(jobs, "other", 1, "other job");
  deliver(jobs, "job", 1, "second");
  const auto rank = jobs.join("job", 1, all_alive(3));
  ASSERT_TRUE(rank.ok());
  deliver(jobs, "job", 1, "third");
  for (const char* expected : {"first", "second", "third", "deadline_exceeded"}) EXPECT_EQ(waiting(**rank), expected);
  EXPECT_EQ((*rank)->meter.read().received_bytes, 16);
  const auto other = jobs.join("other", 1, all_alive(2));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(waiting(**other), "other job");
}

TEST(LocalEndpoints, ForgetsWhatNobodyCameFor) {
  LocalEndpoints jobs(ParkingLimits{.time = 0});
  deliver(jobs, "job", 1, "too early");
  jobs.expire();
  const auto rank = jobs.join("job", 1, all_alive(2));
  ASSERT_TRUE(rank.ok());
  EXPECT_EQ(waiting(**rank), "deadline_exceeded");
}

TEST(LocalEndpoints, BoundsWhatItKeepsForAJobAndForAll) {
  const std::string kilobyte(1000, 'x');
  LocalEndpoints jobs(ParkingLimits{.job_bytes = 4'000, .total_bytes = 6'000});
  for (int i = 0; i < 10; ++i) deliver(jobs, "flood", 1, kilobyte);
  for (int i = 0; i < 10; ++i) deliver(jobs, "flood too", 1, kilobyte);
  const auto count = [&](const char* job) {
    const auto rank = jobs.join(job, 1, all_alive(2));
    int messages = 0;
    while (waiting(**rank) == kilobyte) ++messages;
    return messages;
  };
  EXPECT_EQ(count("flood"), 3);  // each is counted with some bytes of overhead
  EXPECT_EQ(count("flood too"), 1);
  for (int i = 0; i < 10; ++i) deliver(jobs, "later", 1, kilobyte);
  EXPECT_EQ(count("later"), 3);  // room again, now that the others are fetched
}

TEST(LocalEndpoints, TakesARanksMessagesFromItsSubjectAlone) {
  LocalEndpoints jobs;
  const auto come = [&](const std::string& payload, const std::string& sender) {
    jobs.deliver("job", 1, {0, 1, payload}, payload.size(), sender);
  };
  come("forged early", "mangrove://node/mallory");
  come("early", "mangrove://node/ann");
  const auto rank = jobs.join("job", 1, all_alive(2), {{0, "mangrove://node/ann"}});
  ASSERT_TRUE(rank.ok());
  come("forged", "mangrove://node/mallory");
  come("of another role", "mangrove://coordinator/ann");
  come("of nobody", "");
  come("late", "mangrove://node/ann");
  for (const char* expected : {"early", "late", "deadline_exceeded"}) EXPECT_EQ(waiting(**rank), expected);
  Members grown = all_alive(3);
  grown.version = 1;
  const auto come_from_2 = [&] {
    jobs.deliver("job", 1, {2, 1, "from 2"}, 6, "mangrove://node/ben");
    return waiting(**rank);
  };
  jobs.set_members("job", grown);
  EXPECT_EQ(come_from_2(), "deadline_exceeded") << "nobody has said whose rank 2 is";
  jobs.set_members("job", grown, {{2, "mangrove://node/ben"}, {0, "mangrove://node/ben"}});
  EXPECT_EQ(come_from_2(), "from 2");
  come("forged", "mangrove://node/ben");
  EXPECT_EQ(waiting(**rank), "deadline_exceeded") << "rank 0 stays whose it was";
}

TEST(LocalEndpoints, RankCanJoinAgainAfterItLeft) {
  LocalEndpoints jobs;
  ASSERT_TRUE(jobs.join("job", 0, all_alive(1)).ok());
  EXPECT_EQ(jobs.join("job", 0, all_alive(1)).code(), Code::already_exists);
  jobs.leave("job", 0);
  EXPECT_TRUE(jobs.join("job", 0, all_alive(1)).ok());
}

TEST(LocalEndpoints, OneSenderDoesNotFillTheRoomOfOthers) {
  const std::string kilobyte(1'000, 'x');
  LocalEndpoints jobs(ParkingLimits{.job_bytes = 4'000, .sender_bytes = 5'000, .total_bytes = 8'000});
  const auto send = [&](const std::string& job, const std::string& sender) {
    jobs.deliver(job, 1, {0, 1, kilobyte}, kilobyte.size(), sender);
  };
  for (int job = 0; job < 10; ++job)
    for (int i = 0; i < 3; ++i) send("made up " + std::to_string(job), "mangrove://node/mallory");
  for (int i = 0; i < 3; ++i) send("job", "mangrove://node/ann");
  const auto rank = jobs.join("job", 1, all_alive(2), {{0, "mangrove://node/ann"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(waiting(**rank), kilobyte);
}

TEST(LocalEndpoints, MessagesThatNobodyReadsAreBounded) {
  const auto room = std::make_shared<WaitingRoom>(/*of_one=*/4'000, /*of_all=*/8'000);
  LocalEndpoints jobs({}, std::make_shared<SteadyClock>(), room);
  int refused = 0;
  jobs.on_refused([&](Refused what) { refused += what == Refused::message_without_room ? 1 : 1000; });
  const auto rank = jobs.join("job", 1, all_alive(3));
  for (int i = 0; i < 10; ++i) jobs.deliver("job", 1, {2, /*tag=*/77, std::string(1'000, 'x')}, 1'000);
  EXPECT_EQ(refused, 7);
  deliver(jobs, "job", 1, "of another");
  EXPECT_EQ(waiting(**rank), "of another");
  int waited = 0;
  while ((*rank)->mailbox.poll({2}, {77})) ++waited;
  EXPECT_EQ(waited, 3);
}

}  // namespace
}  // namespace mangrove::net
