#include "mangrove/train/data_parallel/all_reduce_topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

/// The ranks of a group, which follow their plans in an order that is drawn by chance.
class Group {
 public:
  Group(std::size_t size, std::size_t floats, const Topology& topology) : next_(size), values_(size) {
    for (std::size_t i = 0; i < size; ++i) ranks_.push_back(static_cast<net::Rank>(3 * i + 1));
    for (std::size_t i = 0; i < size; ++i) plans_.push_back(plan_all_reduce(ranks_, i, topology, floats));
  }

  std::vector<float>& values(std::size_t i) { return values_[i]; }
  /// False: all wait, and nothing is on its way.
  bool run(std::uint64_t seed) {
    Random random(seed);
    while (true) {
      std::vector<std::size_t> able;
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (can_go_on(i)) able.push_back(i);
      }
      if (able.empty()) break;
      go_on(able[random.below(able.size())]);
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (next_[i] < plans_[i].size()) return false;
    }
    return true;
  }
  bool all_taken() const {
    return std::all_of(wires_.begin(), wires_.end(), [](const auto& wire) { return wire.second.empty(); });
  }
  std::size_t floats_sent() const { return sent_; }

 private:
  static bool sends(const Transfer& transfer) {
    return transfer.kind == Transfer::Kind::send || transfer.kind == Transfer::Kind::share;
  }
  bool can_go_on(std::size_t i) {
    if (next_[i] == plans_[i].size()) return false;
    const Transfer& transfer = plans_[i][next_[i]];
    return sends(transfer) || !wires_[{transfer.peer, ranks_[i]}].empty();
  }
  void go_on(std::size_t i) {
    const Transfer& transfer = plans_[i][next_[i]++];
    const auto range = std::span(values_[i]).subspan(transfer.range.first, transfer.range.count);
    if (sends(transfer)) {
      wires_[{ranks_[i], transfer.peer}].emplace_back(range.begin(), range.end());
      sent_ += range.size();
      if (transfer.kind == Transfer::Kind::share) finish(i, transfer.range, /*by_itself=*/true);
      return;
    }
    auto& wire = wires_[{transfer.peer, ranks_[i]}];
    const std::vector<float> floats = std::move(wire.front());
    wire.pop_front();
    ASSERT_EQ(floats.size(), range.size());
    if (transfer.kind == Transfer::Kind::take) finish(i, transfer.range, /*by_itself=*/false);
    for (const auto& [first, count] : finished_[i]) {  // an encoded sum must stay what was decoded
      EXPECT_TRUE(transfer.kind == Transfer::Kind::take || transfer.range.first + transfer.range.count <= first ||
                  first + count <= transfer.range.first);
    }
    for (std::size_t k = 0; k < range.size(); ++k)
      range[k] = transfer.kind == Transfer::Kind::add ? range[k] + floats[k] : floats[k];
  }

  /// Finished sums are passed on in the ranges that they were finished in, each by one rank.
  void finish(std::size_t i, const Range& range, bool by_itself) {
    if (range.count == 0 || finished_[i].contains(range.first)) {
      EXPECT_TRUE(range.count == 0 || finished_[i][range.first] == range.count);
      return;
    }
    finished_[i][range.first] = range.count;
    if (by_itself) {
      EXPECT_TRUE(finishers_.emplace(range.first, i).second) << "two ranks have finished it";
    }
  }

  std::vector<net::Rank> ranks_;
  std::vector<std::vector<Transfer>> plans_;
  std::map<std::size_t, std::map<std::size_t, std::size_t>> finished_;  // of each rank: elements from this one on
  std::map<std::size_t, std::size_t> finishers_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<float>> values_;
  std::map<std::pair<net::Rank, net::Rank>, std::deque<std::vector<float>>> wires_;
  std::size_t sent_ = 0;
};

class AllReduceTopologyReductions : public ::testing::TestWithParam<const char*> {};

TEST_P(AllReduceTopologyReductions, EveryRankGetsTheSameSumsInWhateverOrder) {
  const Topology topology = *parse_topology(GetParam());
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 10u}) {
    for (const std::size_t floats : {1u, 3u, 64u, 1001u}) {
      const std::string where = std::to_string(size) + " ranks, " + std::to_string(floats) + " floats";
      std::vector<float> first;
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        Group group(size, floats, topology);
        std::vector<double> sums(floats);
        Random random(size * 10'000 + floats);
        for (std::size_t i = 0; i < size; ++i) {
          for (std::size_t k = 0; k < floats; ++k) {
            group.values(i).push_back(static_cast<float>(random.normal()));
            sums[k] += static_cast<double>(group.values(i)[k]);
          }
        }
        ASSERT_TRUE(group.run(seed)) << where;
        EXPECT_TRUE(group.all_taken()) << where;
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(group.values(i), group.values(0)) << where;
        for (std::size_t k = 0; k < floats; ++k) {
          ASSERT_NEAR(static_cast<double>(group.values(0)[k]), sums[k], 1e-4) << where;
        }
        if (first.empty()) first = group.values(0);
        ASSERT_EQ(group.values(0), first) << where << ": the bits depend on the timing";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllReduceTopologyReductions,
                         ::testing::Values("ring", "tree", "two_level(2)", "two_level(3)", "two_level(20)",
                                           "servers(1)", "servers(3)", "servers(8)"),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : std::string(test.param)) name += std::isalnum(c) ? c : '_';
                           return name;
                         });

// Each rank sends 2 (P-1) / P of the values: no algorithm sends less.
TEST(Ring, SendsTheLeastThatIsPossible) {
  constexpr std::size_t kRanks = 4, kFloats = 400;
  Group group(kRanks, kFloats, {});
  for (std::size_t i = 0; i < kRanks; ++i) group.values(i).assign(kFloats, 1.0f);
  ASSERT_TRUE(group.run(1));
  EXPECT_EQ(group.floats_sent(), 2 * (kRanks - 1) * kFloats);
}

TEST(Buckets, HoldEveryParameterOnceFilledFromTheLast) {
  const std::vector<std::size_t> sizes{5, 300, 0, 20, 90, 10};
  const std::vector<Bucket> buckets = plan_buckets(sizes, 100);
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].first_parameter, 4u);
  EXPECT_EQ(buckets[0].elements.count, 100u);
  EXPECT_EQ(buckets[1].first_parameter, 1u);
  EXPECT_EQ(buckets[1].parameters, 3u);
  EXPECT_EQ(buckets[2].elements.count, 5u);
  std::size_t end = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), parameters = sizes.size();
  for (const Bucket& bucket : buckets) {
    EXPECT_EQ(bucket.elements.first + bucket.elements.count, end);
    EXPECT_EQ(bucket.first_parameter + bucket.parameters, parameters);
    end = bucket.elements.first;
    parameters = bucket.first_parameter;
  }
  EXPECT_EQ(end, 0u);
  EXPECT_EQ(parameters, 0u);
}

TEST(ParseTopology, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parse_topology("two_level(4)")->number, 4);
  EXPECT_EQ(parse_topology("servers(2)")->kind, Topology::Kind::servers);
  for (const char* text :
       {"star", "two_level", "two_level(1)", "two_level(x)", "two_level(4", "ring ", "servers(0)", "servers"}) {
    const auto parsed = parse_topology(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find("'" + std::string(text) + "'"), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace mangrove::train
