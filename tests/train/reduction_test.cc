#include "mangrove/train/reduction.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <thread>

#include "mangrove/base/mutex.h"
#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

/// Floats on their way between the ranks of a group, each on a thread of its own.
class Wires {
 public:
  void send(net::Rank from, net::Rank to, std::span<const float> values) {
    MutexLock lock(mutex_);
    waiting_[{from, to}].emplace_back(values.begin(), values.end());
    floats_ += values.size();
    changed_.notify_all();
  }
  std::vector<float> recv(net::Rank from, net::Rank to) {
    MutexLock lock(mutex_);
    auto& queue = waiting_[{from, to}];
    while (queue.empty()) changed_.wait_for(mutex_, 60);
    std::vector<float> values = std::move(queue.front());
    queue.pop_front();
    return values;
  }
  std::size_t floats() const {
    MutexLock lock(mutex_);
    return floats_;
  }
  bool all_taken() const {
    MutexLock lock(mutex_);
    for (const auto& [ranks, queue] : waiting_) {
      if (!queue.empty()) return false;
    }
    return true;
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::map<std::pair<net::Rank, net::Rank>, std::deque<std::vector<float>>> waiting_ MG_GUARDED_BY(mutex_);
  std::size_t floats_ MG_GUARDED_BY(mutex_) = 0;
};

class WirePeers final : public Peers {
 public:
  WirePeers(Wires& wires, net::Rank me) : wires_(wires), me_(me) {}
  void send(net::Rank to, std::span<const float> values) override { wires_.send(me_, to, values); }
  Status recv(net::Rank from, std::span<float> into) override {
    const std::vector<float> values = wires_.recv(from, me_);
    if (values.size() != into.size()) {
      return make_error(Code::data_loss,
                        std::to_string(values.size()) + " floats instead of " + std::to_string(into.size()));
    }
    std::copy(values.begin(), values.end(), into.begin());
    return {};
  }

 private:
  Wires& wires_;
  const net::Rank me_;
};

class Reductions : public testing::TestWithParam<const char*> {};

TEST_P(Reductions, EveryRankGetsTheSameSums) {
  const Topology topology = *parse_topology(GetParam());
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 10u}) {
    for (const std::size_t floats : {1u, 3u, 64u, 1001u}) {
      const std::string where = std::to_string(size) + " ranks, " + std::to_string(floats) + " floats";
      std::vector<net::Rank> group;
      std::vector<std::vector<float>> values(size);
      std::vector<double> sums(floats);
      Random random(size * 10'000 + floats);
      for (std::size_t i = 0; i < size; ++i) {
        group.push_back(static_cast<net::Rank>(3 * i + 1));
        for (std::size_t k = 0; k < floats; ++k) {
          values[i].push_back(static_cast<float>(random.normal()));
          sums[k] += static_cast<double>(values[i][k]);
        }
      }
      Wires wires;
      std::vector<Status> statuses(size);
      {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < size; ++i) {
          threads.emplace_back([&, i] {
            WirePeers peers(wires, group[i]);
            statuses[i] = all_reduce(peers, group, i, topology, values[i]);
          });
        }
      }
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_TRUE(statuses[i].ok()) << where << ": " << statuses[i].error().message;
        ASSERT_EQ(values[i], values[0]) << where;
      }
      for (std::size_t k = 0; k < floats; ++k) ASSERT_NEAR(static_cast<double>(values[0][k]), sums[k], 1e-4) << where;
      EXPECT_TRUE(wires.all_taken()) << where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reductions,
                         testing::Values("ring", "tree", "two_level(2)", "two_level(3)", "two_level(20)"),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : std::string(test.param)) name += std::isalnum(c) ? c : '_';
                           return name;
                         });

// Each rank sends 2 (P-1) / P of the values: no algorithm sends less.
TEST(Ring, SendsTheLeastThatIsPossible) {
  constexpr std::size_t kRanks = 4, kFloats = 400;
  const std::vector<net::Rank> group{1, 2, 3, 4};
  Wires wires;
  std::vector<std::vector<float>> values(kRanks, std::vector<float>(kFloats, 1.0f));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kRanks; ++i) {
      threads.emplace_back([&, i] {
        WirePeers peers(wires, group[i]);
        EXPECT_TRUE(all_reduce(peers, group, i, {}, values[i]).ok());
      });
    }
  }
  EXPECT_EQ(wires.floats(), 2 * (kRanks - 1) * kFloats);
}

TEST(ParseTopology, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parse_topology("two_level(4)")->group, 4);
  for (const char* text : {"star", "two_level", "two_level(1)", "two_level(x)", "two_level(4", "ring "}) {
    const auto parsed = parse_topology(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find("'" + std::string(text) + "'"), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace mangrove::train
