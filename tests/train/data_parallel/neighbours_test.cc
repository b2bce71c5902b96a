#include "mangrove/train/data_parallel/neighbours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

TEST(ParseNeighbours, TakesItsThreeForms) {
  EXPECT_EQ(parse_neighbours("")->kind, Neighbours::Kind::ring);
  EXPECT_EQ(parse_neighbours("ring")->kind, Neighbours::Kind::ring);
  EXPECT_EQ(parse_neighbours("random")->kind, Neighbours::Kind::random);
  const auto graph = parse_neighbours("graph(0-1,12-3)");
  EXPECT_EQ(graph->kind, Neighbours::Kind::graph);
  EXPECT_EQ(graph->edges, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {12, 3}}));
}

TEST(ParseNeighbours, RefusesAllElse) {
  for (const char* text :
       {"rings", "graph", "graph()", "graph(0)", "graph(0-)", "graph(-1)", "graph(0-0)", "graph(0-1,)",
        "graph(0-1;1-2)", "graph(0-1", "graph(0-1)x", "graph(0-99999999999999999999)"}) {
    const auto parsed = parse_neighbours(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.code(), Code::invalid_argument);
    EXPECT_NE(parsed.error().message.find("'" + std::string(text) + "'"), std::string::npos) << parsed.error().message;
  }
}

TEST(Neighbours, AGraphMustLinkAllWorkersAndNoOthers) {
  const auto check = [](const std::string& text, std::size_t workers) {
    return check_workers(*parse_neighbours(text), text, workers);
  };
  EXPECT_TRUE(check("graph(0-1,2-1)", 3).ok());
  EXPECT_TRUE(check("graph(2-3,0-1,1-2)", 4).ok());
  EXPECT_TRUE(check("ring", 7).ok());
  EXPECT_EQ(check("graph(0-1,1-3)", 3).error().message,
            "neighbours: graph(0-1,1-3) links worker 3, but there are 3 nodes, numbered from 0");
  EXPECT_EQ(check("graph(0-1,2-3)", 4).error().message,
            "neighbours: graph(0-1,2-3) does not link worker 2 to worker 0");
  EXPECT_FALSE(check("graph(0-1)", 3).ok());
}

Adjacency of(const std::string& text, const net::RankSet& ranks, std::size_t workers, std::int64_t round = 0) {
  return adjacency(*parse_neighbours(text), ranks, workers, 1, round);
}

TEST(Neighbours, OfARingAreTheOnesBeforeAndBehind) {
  EXPECT_EQ(of("ring", {1, 3, 4, 6}, 6), (Adjacency{{1, {3, 6}}, {3, {1, 4}}, {4, {3, 6}}, {6, {1, 4}}}));
  EXPECT_EQ(of("ring", {2, 5}, 6), (Adjacency{{2, {5}}, {5, {2}}}));
  EXPECT_EQ(of("ring", {2}, 6), Adjacency());
}

TEST(Neighbours, PairsAreDrawnForEveryRound) {
  std::set<Adjacency> seen;
  for (std::int64_t round = 0; round < 200; ++round) {
    const Adjacency pairs = of("random", {1, 2, 3, 4, 5}, 5, round);
    EXPECT_EQ(pairs.size(), 4u) << "one is left over";
    for (const auto& [rank, others] : pairs) {
      ASSERT_EQ(others.size(), 1u);
      EXPECT_EQ(pairs.at(*others.begin()), std::set<net::Rank>{rank});
    }
    EXPECT_EQ(of("random", {1, 2, 3, 4, 5}, 5, round), pairs);
    seen.insert(pairs);
  }
  EXPECT_EQ(seen.size(), 15u) << "all that there are";
}

TEST(Neighbours, WhoJoinedLaterIsLinkedToTheFirst) {
  EXPECT_EQ(of("graph(0-1)", {1, 2, 3}, 3), (Adjacency{{1, {2, 3}}, {2, {1}}, {3, {1}}}));
  EXPECT_EQ(of("graph(0-1)", {2, 3}, 3), (Adjacency{{2, {3}}, {3, {2}}}));
}

TEST(Neighbours, AGraphStaysInOnePieceWithoutSomeRanks) {
  // a star, whose middle is lost
  EXPECT_EQ(of("graph(0-1,0-2,0-3)", {2, 3, 4}, 4), (Adjacency{{2, {3}}, {3, {2, 4}}, {4, {3}}}));
  // a chain, of which two in a row are lost
  EXPECT_EQ(of("graph(0-1,1-2,2-3)", {1, 4}, 4), (Adjacency{{1, {4}}, {4, {1}}}));
}

/// One round of averaging: w_i += sum over neighbours j of weight_ij (w_j - w_i).
std::map<net::Rank, double> averaged(const Adjacency& links, const std::map<net::Rank, double>& values) {
  std::map<net::Rank, double> mean = values;
  for (const auto& [a, others] : links) {
    for (const net::Rank b : others) mean[a] += metropolis_weight(links, a, b) * (values.at(b) - values.at(a));
  }
  return mean;
}

double variance(const std::map<net::Rank, double>& values) {
  double mean = 0, sum = 0;
  for (const auto& [rank, value] : values) mean += value / static_cast<double>(values.size());
  for (const auto& [rank, value] : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// Metropolis weights of a ring are 1/3 each, so that the slowest mode, a cosine around it, shrinks by
// 1/3 + 2/3 cos(2 pi / n) in a round, and the variance by the square.
TEST(Metropolis, ARingAgreesAsFastAsTheorySays) {
  for (const int n : {4, 5, 10}) {
    net::RankSet ranks;
    std::map<net::Rank, double> values;
    for (net::Rank rank = 1; rank <= n; ++rank) {
      ranks.push_back(rank);
      values[rank] = std::cos(2 * std::numbers::pi * rank / n);
    }
    const Adjacency links = of("ring", ranks, static_cast<std::size_t>(n));
    const double factor = std::pow(1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / n), 2);
    for (int round = 0; round < 10; ++round) {
      const double before = variance(values);
      values = averaged(links, values);
      EXPECT_NEAR(variance(values), factor * before, 1e-6 * before) << n << " workers, round " << round;
    }
  }
}

TEST(Metropolis, TheMeanStaysAndAllComeToAgree) {
  for (const char* text : {"ring", "random", "graph(0-1,0-2,0-3,3-4,4-5)"}) {
    Random random(3);
    std::map<net::Rank, double> values;
    double sum = 0;
    for (net::Rank rank = 1; rank <= 6; ++rank) sum += values[rank] = random.normal();
    for (int round = 0; round < 200; ++round) values = averaged(of(text, {1, 2, 3, 4, 5, 6}, 6, round), values);
    for (const auto& [rank, value] : values) EXPECT_NEAR(value, sum / 6, 1e-6) << text << ", rank " << rank;
  }
}

}  // namespace
}  // namespace mangrove::train
