// The sum is exactly that of the plain vectors, whatever is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/secure_aggregation/round.h"

namespace mangrove::secure {
namespace {

constexpr std::size_t kSumWords = 37;

void expect_plain(Round& round, const Result<Sum>& sum) {
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_EQ(sum->words, round.plain_sum(sum->clients));
  EXPECT_TRUE(round.server().liars().empty());
}

class SumOfAll : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SumOfAll, IsThatOfThePlainVectors) {
  Round round(GetParam(), kSumWords, 1);
  const Result<Sum> sum = round.run();
  expect_plain(round, sum);
  EXPECT_EQ(sum->clients, Round::numbers(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Clients, SumOfAll, ::testing::Values(3, 4, 5, 8, 33));

TEST(SecureSum, OfVectorsWithoutWords) {
  Round round(3, 0, 1);
  expect_plain(round, round.run());
}

TEST(SecureSum, OfTwoIsRefused) {
  EXPECT_EQ(Server::create(1, kSumWords, {1, 2}, seeded(1)).code(), Code::invalid_argument);
}

/// A third of the clients, rounded down, each lost at this step, before the order or with the reply to it.
struct Loss {
  Order::StepCase step;
  bool of_order;
};

class LossOfAThird : public ::testing::TestWithParam<Loss> {};

TEST_P(LossOfAThird, LeavesTheSumOfTheOthers) {
  const auto [step, of_order] = GetParam();
  for (const std::size_t clients : {std::size_t{4}, std::size_t{7}, std::size_t{12}, std::size_t{130}}) {
    if (clients > 100 && (step != Order::kInbox || of_order)) continue;  // once: it takes its time
    Round round(clients, kSumWords, clients);
    std::vector<ClientId> order = Round::numbers(clients);
    Random(clients).shuffle(std::span(order));
    const std::set<ClientId> gone(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(clients / 3));
    round.carry = [&, step = step, of_order = of_order](const Carried& carried, std::string message) {
      const bool is_lost = carried.step == step && carried.is_order == of_order && gone.contains(carried.client);
      return is_lost ? std::nullopt : std::optional(std::move(message));
    };
    const Result<Sum> sum = round.run();
    expect_plain(round, sum);
    const bool are_in_sum = step == Order::kOutcome;
    EXPECT_EQ(sum->clients.size(), are_in_sum ? clients : clients - clients / 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, LossOfAThird,
                         ::testing::Values(Loss{Order::kBegin, true}, Loss{Order::kBegin, false},
                                           Loss{Order::kNeighbours, true}, Loss{Order::kNeighbours, false},
                                           Loss{Order::kInbox, true}, Loss{Order::kInbox, false},
                                           Loss{Order::kOutcome, true}, Loss{Order::kOutcome, false}));

TEST(SecureSum, EveryMessageMayBeLost) {
  constexpr std::size_t kClients = 6;
  for (int lost = 0; lost < static_cast<int>(kClients) * 8; ++lost) {
    Round round(kClients, kSumWords, 2);
    bool came = false;
    round.carry = [&](const Carried& carried, std::string message) {
      came = came || carried.number == lost;
      return carried.number == lost ? std::nullopt : std::optional(std::move(message));
    };
    const Result<Sum> sum = round.run();
    EXPECT_TRUE(came) << lost;
    expect_plain(round, sum);
    EXPECT_GE(sum->clients.size(), kClients - 1) << lost;
  }
}

// Every k-th of all messages: there is a sum that is right, or a clear error, and many k have a sum.
TEST(SecureSum, EveryKthMessageMayBeLost) {
  int sums = 0;
  for (int k = 2; k < 60; ++k) {
    Round round(9, kSumWords, static_cast<std::uint64_t>(k));
    round.carry = [&](const Carried& carried, std::string message) {
      return carried.number % k == k - 1 ? std::nullopt : std::optional(std::move(message));
    };
    const Result<Sum> sum = round.run();
    if (sum.ok()) {
      expect_plain(round, sum);
      ++sums;
    } else {
      EXPECT_EQ(sum.code(), Code::failed_precondition);
      EXPECT_NE(sum.error().message.find("too many drop-outs"), std::string::npos) << sum.error().message;
    }
  }
  EXPECT_GE(sums, 40);
}

// Whoever drops out, and when. Drop-outs stay away.
TEST(SecureSum, AnyDropOutsLeaveARightSumOrNone) {
  int sums = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random = Random(seed).fork(2);
    const std::size_t clients = 3 + random.below(10);
    const double rate = random.uniform(0, 0.12);
    Round round(clients, kSumWords, seed);
    std::set<ClientId> gone;
    round.carry = [&](const Carried& carried, std::string message) {
      if (random.uniform() < rate) gone.insert(carried.client);
      return gone.contains(carried.client) ? std::nullopt : std::optional(std::move(message));
    };
    const Result<Sum> sum = round.run();
    if (sum.ok()) {
      ++sums;
      expect_plain(round, sum);
      EXPECT_GE(sum->clients.size(), kFewestClients) << seed;
    } else {
      EXPECT_EQ(sum.code(), Code::failed_precondition) << seed;
      EXPECT_GT(3 * gone.size(), clients - 3) << seed;  // more than a third, or fewer than three are left
    }
  }
  EXPECT_GE(sums, 80);
}

TEST(SecureSum, MoreDropOutsThanAThirdAreAClearError) {
  Round round(6, kSumWords, 3);
  round.carry = [&](const Carried& carried, std::string message) {
    const bool is_lost = carried.step == Order::kInbox && carried.client <= 5;
    return is_lost ? std::nullopt : std::optional(std::move(message));
  };
  EXPECT_EQ(round.run().error().message,
            "too many drop-outs: 3 of 6 clients that share secrets are left, and 4 are needed");
}

// Of one client: 5 steps of a round of n clients that are all neighbours, v words long. docs/secure-aggregation.md has
// the formula.
TEST(SecureSum, CostsTheBytesThatThePageSays) {
  for (const std::size_t clients : {std::size_t{4}, std::size_t{16}, std::size_t{64}}) {
    for (const std::size_t words : {std::size_t{0}, std::size_t{1000}}) {
      Round round(clients, words, 4);
      std::size_t up = 0, down = 0;
      round.carry = [&](const Carried& carried, std::string message) {
        if (carried.client == 1) (carried.is_order ? down : up) += message.size();
        return std::optional(std::move(message));
      };
      expect_plain(round, round.run());
      const std::size_t neighbours = clients - 1;
      EXPECT_NEAR(static_cast<double>(up), static_cast<double>(4 * words + 233 * neighbours + 236),
                  0.01 * static_cast<double>(up));
      EXPECT_NEAR(static_cast<double>(down), static_cast<double>(271 * neighbours + 35),
                  0.01 * static_cast<double>(down));
    }
  }
}

}  // namespace
}  // namespace mangrove::secure
