#include "mangrove/job/requests.h"

#include <gtest/gtest.h>

namespace mangrove::job {
namespace {

TEST(Requests, WhoAnswersInOrderIsNotSilent) {
  Requests requests(5);
  std::uint64_t oldest = requests.add(1, 0, {0});
  for (int i = 1; i <= 4; ++i) {
    const std::uint64_t next = requests.add(1, static_cast<std::uint64_t>(i), {0});
    const Instant now{4.0 * i};
    EXPECT_FALSE(requests.is_silent(1, now)) << i;
    requests.answer(1, oldest, now);
    oldest = next;
  }
  EXPECT_FALSE(requests.is_silent(1, {20.9}));
  EXPECT_TRUE(requests.is_silent(1, {21}));
  requests.answer(1, oldest, {22});
  EXPECT_FALSE(requests.is_silent(1, {1000})) << "nothing is asked";
}

TEST(Requests, WhoLeavesOneQuestionUnansweredIsSilentThoughItAnswersOthers) {
  Requests requests(5);
  const std::uint64_t skipped = requests.add(1, 0, {0});
  for (int second = 1; second <= 5; ++second)
    requests.answer(1, requests.add(1, static_cast<std::uint64_t>(second), {0.9 * second}), {0.9 * second});
  EXPECT_FALSE(requests.is_silent(1, {4.9}));
  EXPECT_TRUE(requests.is_silent(1, {5}));
  EXPECT_EQ(requests.find(1, skipped), 0u);
  requests.forget_subject(0);
  EXPECT_FALSE(requests.is_silent(1, {5.1}));
}

TEST(Requests, APartOfTheAnswerGivesMoreTime) {
  Requests requests(5);
  const std::uint64_t request = requests.add(1, 7, {0});
  requests.answer_in_part(1, request, {4});
  EXPECT_FALSE(requests.is_silent(1, {8.9}));
  EXPECT_EQ(requests.silent_from(1), Instant{9});
  EXPECT_TRUE(requests.is_silent(1, {9}));
  EXPECT_EQ(requests.find(1, request), 7u) << "it is not answered yet";
}

TEST(Requests, WhatIsAskedAgainHasAnotherNumber) {
  Requests requests(5);
  const std::uint64_t first = requests.add(1, 7, {0});
  requests.add(1, 8, {0});
  EXPECT_EQ(requests.forget_rank(1), (std::vector<std::uint64_t>{7, 8}));
  EXPECT_FALSE(requests.is_asked(1));
  const std::uint64_t again = requests.add(2, 7, {6});
  EXPECT_NE(first, again);
  EXPECT_FALSE(requests.find(1, first)) << "too late";
  EXPECT_FALSE(requests.find(2, first)) << "rank 2 was not asked by that number";
  EXPECT_FALSE(requests.find(1, again)) << "an answer of one rank to what another was asked";
  EXPECT_EQ(requests.find(2, again), 7u);
  EXPECT_EQ(requests.asked(), net::RankSet{2});
  EXPECT_EQ(requests.silent_from(1), Instant::never());
}

}  // namespace
}  // namespace mangrove::job
