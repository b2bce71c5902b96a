#include "mangrove/net/send_queue.h"

#include <gtest/gtest.h>

namespace mangrove::net {
namespace {

void push(SendQueue& queue, const std::string& job, Rank to) {
  auto message = std::make_unique<Outgoing>();
  message->envelope.set_job(job);
  message->envelope.set_to(to);
  queue.push(std::move(message));
}

/// Sequence numbers of all that is still to be written.
std::vector<std::uint64_t> rest(SendQueue& queue) {
  std::vector<std::uint64_t> sequences;
  while (const auto message = queue.next()) sequences.push_back(message->envelope.sequence());
  return sequences;
}

using Sequences = std::vector<std::uint64_t>;

TEST(SendQueue, RepeatsInOrderWhatWasNotReceipted) {
  SendQueue queue;
  for (int i = 0; i < 5; ++i) push(queue, "job", 1);
  EXPECT_EQ(rest(queue), (Sequences{1, 2, 3, 4, 5}));
  queue.acknowledge(2);
  EXPECT_EQ(rest(queue), Sequences());
  queue.rewind();
  EXPECT_EQ(rest(queue), (Sequences{3, 4, 5}));
  queue.acknowledge(5);
  EXPECT_TRUE(queue.empty());
}

TEST(SendQueue, ReceiptForWhatWasNotSentChangesNothing) {
  SendQueue queue;
  push(queue, "job", 1);
  push(queue, "job", 1);
  queue.next();
  queue.acknowledge(1'000'000);
  EXPECT_EQ(rest(queue), (Sequences{2}));
}

TEST(SendQueue, DropsWhatIsForALostRankNowAndLater) {
  SendQueue queue;
  push(queue, "job", 1);
  push(queue, "job", 2);
  push(queue, "job", 1);
  push(queue, "other", 1);
  queue.next();
  queue.next();
  queue.drop("job", 1);
  push(queue, "job", 1);
  EXPECT_EQ(rest(queue), (Sequences{4}));
  queue.rewind();
  EXPECT_EQ(rest(queue), (Sequences{2, 4}));
}

TEST(SendQueue, KnowsHowMuchOfATagWaitsForARank) {
  SendQueue queue;
  for (const auto& [to, tag] : {std::pair(1, 7U), {1, 8U}, {2, 7U}, {1, 7U}}) {
    auto message = std::make_unique<Outgoing>();
    message->envelope.set_job("job");
    message->envelope.set_to(to);
    message->envelope.set_tag(tag);
    message->envelope.set_payload("12345");
    queue.push(std::move(message));
  }
  EXPECT_EQ(queue.queued_bytes("job", 1, 7), 10);
  EXPECT_EQ(queue.queued_bytes("other", 1, 7), 0);
  queue.next();
  EXPECT_EQ(queue.queued_bytes("job", 1, 7), 10) << "it is kept until it is receipted";
  queue.acknowledge(1);
  EXPECT_EQ(queue.queued_bytes("job", 1, 7), 5);
  queue.drop("job", 1);
  EXPECT_EQ(queue.queued_bytes("job", 1, 7), 0);
}

}  // namespace
}  // namespace mangrove::net
