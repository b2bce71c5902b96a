#include "mangrove/secure_aggregation/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "mangrove/secure_aggregation/shamir.h"

namespace mangrove::secure {
namespace {

std::vector<ClientId> first_numbers(std::size_t count) {
  std::vector<ClientId> all(count);
  std::iota(all.begin(), all.end(), 5u);
  return all;
}

TEST(Connections, FewClientsAreAllNeighboursAndBearTheLossOfAThird) {
  for (std::size_t clients = kFewestClients; clients <= 100; ++clients) {
    const Connections connections = choose_connections(clients).value();
    EXPECT_EQ(connections.degree, clients - 1);
    EXPECT_EQ(connections.threshold, std::max(kFewestClients, clients - clients / 3));
    EXPECT_GT(2 * connections.threshold, clients);
  }
}

TEST(Connections, ManyClientsHaveNeighboursThatGrowWithTheLogarithm) {
  std::size_t last = 0;
  for (std::size_t clients = 256; clients <= kMostClients; clients *= 2) {
    const Connections connections = choose_connections(clients).value();
    EXPECT_GE(connections.degree, last);
    EXPECT_LE(connections.degree, last == 0 ? 120 : last + 40);
    last = connections.degree;
  }
  EXPECT_LT(last, kMostShares);
}

TEST(Connections, EveryNumberOfClientsHasSome) {
  for (std::size_t clients = kFewestClients; clients <= kMostClients; clients += 1 + clients / 100) {
    const Connections connections = choose_connections(clients).value();
    EXPECT_LT(connections.degree, std::min(clients, kMostShares)) << clients;
    EXPECT_TRUE(connections.degree == clients - 1 || connections.degree % 2 == 0) << clients;
    EXPECT_GT(3 * connections.threshold, connections.degree + 1) << clients;  // what a client asks for
  }
  for (const std::size_t clients : {std::size_t{0}, std::size_t{2}, kMostClients + 1})
    EXPECT_EQ(choose_connections(clients).code(), Code::invalid_argument);
}

// A third drops out at random, 300 times with 300 clients: each time, all secrets can be made up, and those that are
// left are in one piece.
TEST(Connections, ManyClientsBearTheLossOfAThird) {
  constexpr std::size_t kClients = 300;
  const Connections connections = choose_connections(kClients).value();
  ASSERT_LT(connections.degree, kClients - 1);
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const auto neighbours = draw_neighbours(first_numbers(kClients), connections.degree, random);
    std::vector<ClientId> order = first_numbers(kClients);
    random.shuffle(std::span(order));
    const std::set<ClientId> left(order.begin() + kClients / 3, order.end());
    std::vector<ClientId> reached{*left.begin()};
    std::set<ClientId> seen(reached.begin(), reached.end());
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const ClientId other : neighbours.at(reached[i]))
        if (left.contains(other) && seen.insert(other).second) reached.push_back(other);
    }
    EXPECT_EQ(seen.size(), left.size());
    for (const auto& [client, others] : neighbours) {
      const auto holders =
          static_cast<std::size_t>(std::ranges::count_if(others, [&](ClientId other) { return left.contains(other); }));
      EXPECT_GE(holders + (left.contains(client) ? 1 : 0), connections.threshold);
    }
  }
}

TEST(DrawNeighbours, AreMutualAndAsManyForAll) {
  Random random(7);
  for (const auto& [clients, degree] :
       {std::pair<std::size_t, std::size_t>{3, 2}, {4, 3}, {4, 2}, {9, 8}, {10, 9}, {10, 4}, {11, 10}, {50, 12}}) {
    const auto neighbours = draw_neighbours(first_numbers(clients), degree, random);
    ASSERT_EQ(neighbours.size(), clients);
    for (const auto& [client, others] : neighbours) {
      EXPECT_EQ(others.size(), degree);
      EXPECT_TRUE(std::ranges::is_sorted(others));
      EXPECT_EQ(std::set<ClientId>(others.begin(), others.end()).size(), degree);
      EXPECT_FALSE(std::ranges::binary_search(others, client));
      for (const ClientId other : others) EXPECT_TRUE(std::ranges::binary_search(neighbours.at(other), client));
    }
  }
}

}  // namespace
}  // namespace mangrove::secure
