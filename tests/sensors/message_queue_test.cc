#include "mangrove/sensors/message_queue.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "mangrove/sensors/backoff.h"

namespace mangrove::sensors {
namespace {

Message message(const std::string& payload) {
  return {.topic = "t", .payload = payload};
}

std::string taken(MessageQueue& queue) {
  std::string all;
  for (const Message& one : queue.take(100)) all += one.payload;
  return all;
}

TEST(MessageQueue, TheOldestGoesWhenItIsFull) {
  MessageQueue queue({.messages = 2, .bytes = 1'000'000});
  EXPECT_EQ(queue.push(message("a")) + queue.push(message("b")), 0U);
  EXPECT_EQ(queue.push(message("c")), 1U);
  EXPECT_EQ(taken(queue), "bc");
}

TEST(MessageQueue, OrTheNewest) {
  MessageQueue queue({.messages = 2, .bytes = 1'000'000, .when_full = WhenFull::drop_newest});
  for (const char* text : {"a", "b", "c"}) queue.push(message(text));
  EXPECT_EQ(taken(queue), "ab");
}

TEST(MessageQueue, BytesAreBoundedToo) {
  MessageQueue queue({.messages = 1000, .bytes = 10'000});
  EXPECT_EQ(queue.push(message("a")), 0U);
  EXPECT_EQ(queue.push(message(std::string(10'000, 'x'))), 1U) << "it would never fit, so nothing makes room for it";
  EXPECT_EQ(queue.push(message(std::string(9'800, 'y'))), 1U);
  EXPECT_EQ(taken(queue).size(), 9'800U);
}

TEST(MessageQueue, WhoWaitsForTheAnswerOfADroppedMessageHearsSo) {
  MessageQueue queue({.messages = 1, .bytes = 1'000'000});
  std::optional<Result<std::string>> heard;
  Message first = message("a");
  first.reply = [&heard](Result<std::string> reply) { heard = std::move(reply); };
  queue.push(std::move(first));
  queue.push(message("b"));
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->code(), Code::resource_exhausted);
}

TEST(Backoff, PausesGrowUpToALimitAndBeginAnewAfterASuccess) {
  Backoff backoff(1, 8, Random(5));
  Seconds whole = 1;
  for (int i = 0; i < 6; ++i, whole = std::min(2 * whole, 8.0)) {
    const Seconds pause = backoff.next();
    EXPECT_GE(pause, whole / 2);
    EXPECT_LE(pause, whole);
  }
  backoff.succeeded();
  EXPECT_LE(backoff.next(), 1);
}

}  // namespace
}  // namespace mangrove::sensors
