#include "mangrove/infer/views/requests.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

TEST(ViewRequests, WhoAnswersInOrderIsNotSilent) {
  ViewRequests requests(5);
  std::uint64_t oldest = requests.add(1, 0, {0});
  for (int i = 1; i <= 4; ++i) {
    const std::uint64_t next = requests.add(1, static_cast<std::uint64_t>(i), {0});
    const Instant now{4.0 * i};
    EXPECT_FALSE(requests.is_silent(1, now)) << i;
    requests.answer(1, oldest, now);
    oldest = next;
  }
  EXPECT_FALSE(requests.is_silent(1, {21}));
  EXPECT_TRUE(requests.is_silent(1, {21.1}));
  requests.answer(1, oldest, {22});
  EXPECT_FALSE(requests.is_silent(1, {1000})) << "nothing is asked";
}

TEST(ViewRequests, WhoLeavesOneQuestionUnansweredIsSilentThoughItAnswersOthers) {
  ViewRequests requests(5);
  const std::uint64_t skipped = requests.add(1, 0, {0});
  for (int second = 1; second <= 5; ++second)
    requests.answer(1, requests.add(1, static_cast<std::uint64_t>(second), {1.0 * second}), {1.0 * second});
  EXPECT_FALSE(requests.is_silent(1, {5}));
  EXPECT_TRUE(requests.is_silent(1, {5.1}));
  EXPECT_EQ(requests.find(1, skipped), 0u);
  requests.forget_batch(0);
  EXPECT_FALSE(requests.is_silent(1, {5.1}));
}

}  // namespace
}  // namespace mangrove::infer
