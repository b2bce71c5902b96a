#include "mangrove/train/data_parallel/data_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mangrove::train {
namespace {

constexpr std::size_t kDataSplitWorkers = 5;

/// Ten classes of 100 to 190 samples, in no order.
std::vector<std::int32_t> labels() {
  std::vector<std::int32_t> all;
  for (std::int32_t round = 0; round < 19; ++round) {
    for (std::int32_t label = 0; label < 10; ++label) {
      const bool is_there = round < 10 + label;
      for (int i = 0; is_there && i < 10; ++i) all.push_back(label);
    }
  }
  return all;
}

using Counts = std::vector<std::map<std::int32_t, std::size_t>>;  // by worker, then label

Counts counts(const std::string& split, std::size_t workers, std::uint64_t seed) {
  const auto all = labels();
  const auto owner = owners(*parse_split(split), all, workers, seed);
  EXPECT_EQ(owner.size(), all.size()) << "every sample has one owner";
  Counts table(workers);
  for (std::size_t i = 0; i < owner.size(); ++i) {
    EXPECT_LT(owner[i], workers);
    if (owner[i] < workers) ++table[owner[i]][all[i]];
  }
  return table;
}

std::size_t size_of(const std::map<std::int32_t, std::size_t>& shard) {
  std::size_t size = 0;
  for (const auto& [label, count] : shard) size += count;
  return size;
}

TEST(ParseSplit, TakesItsFourForms) {
  EXPECT_EQ(parse_split("")->kind, DataSplit::Kind::iid);
  EXPECT_EQ(parse_split("iid")->kind, DataSplit::Kind::iid);
  EXPECT_EQ(parse_split("dirichlet(0.3)")->kind, DataSplit::Kind::dirichlet);
  EXPECT_EQ(parse_split("dirichlet(0.3)")->alpha, 0.3);
  EXPECT_EQ(parse_split("by_label(2)")->kind, DataSplit::Kind::by_label);
  EXPECT_EQ(parse_split("by_label(2)")->labels, 2);
  EXPECT_EQ(parse_split("by_size(1,2.5,4)")->kind, DataSplit::Kind::by_size);
  EXPECT_EQ(parse_split("by_size(1,2.5,4)")->sizes, (std::vector<double>{1, 2.5, 4}));
}

TEST(ParseSplit, RefusesAllElse) {
  for (const char* text :
       {"idd", "dirichlet", "dirichlet()", "dirichlet(0)", "dirichlet(-1)", "dirichlet(nan)", "dirichlet(inf)",
        "dirichlet(1,2)", "dirichlet(1", "dirichlet(1)x", "by_label(1.5)", "by_label(0)", "by_label(10001)",
        "by_size()", "by_size(1,)", "by_size(1,0)", "by_size(1;2)", "by_size(1e300)"}) {
    const auto parsed = parse_split(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.code(), Code::invalid_argument);
    EXPECT_NE(parsed.error().message.find("'" + std::string(text) + "'"), std::string::npos) << parsed.error().message;
  }
}

TEST(Owners, DependOnTheArgumentsOnly) {
  for (const char* split : {"dirichlet(0.3)", "by_label(2)", "by_size(1,1,2,3,5)"}) {
    const auto all = labels();
    const auto first = owners(*parse_split(split), all, kDataSplitWorkers, 7);
    EXPECT_EQ(owners(*parse_split(split), all, kDataSplitWorkers, 7), first) << split;
    EXPECT_NE(owners(*parse_split(split), all, kDataSplitWorkers, 8), first) << split;
  }
}

// So that shards do not change unnoticed from one version to the next.
TEST(Owners, AreTheSameEverywhere) {
  const std::vector<std::int32_t> few = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
  using Owners = std::vector<std::size_t>;
  EXPECT_EQ(owners(*parse_split("dirichlet(0.5)"), few, 3, 1), (Owners{1, 0, 0, 2, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(owners(*parse_split("by_label(1)"), few, 3, 1), (Owners{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(owners(*parse_split("by_size(1,2,3)"), few, 3, 1), (Owners{2, 0, 1, 2, 1, 0, 1, 1, 2, 2, 2, 2}));
}

TEST(Owners, BySizeHaveTheirShareWhateverTheClass) {
  const Counts table = counts("by_size(1,1,2,3,5)", kDataSplitWorkers, 3);
  const auto total = static_cast<double>(labels().size());
  const std::vector<double> shares = {1, 1, 2, 3, 5};
  for (std::size_t worker = 0; worker < kDataSplitWorkers; ++worker) {
    EXPECT_NEAR(static_cast<double>(size_of(table[worker])), total * shares[worker] / 12, 1) << worker;
    EXPECT_EQ(table[worker].size(), 10u) << "all classes";
  }
}

TEST(Owners, ByLabelHaveFewClassesAndEqualSizes) {
  for (const std::size_t k : {1u, 2u, 3u}) {
    const Counts table = counts("by_label(" + std::to_string(k) + ")", 10, 4);
    for (const auto& shard : table) {
      EXPECT_LE(shard.size(), 2 * k) << "a piece may lie over the border of two classes";
      EXPECT_NEAR(static_cast<double>(size_of(shard)), static_cast<double>(labels().size()) / 10,
                  static_cast<double>(k));
    }
  }
}

/// Mean over classes and seeds of the largest worker's share of a class.
double concentration(const std::string& split) {
  double sum = 0;
  constexpr std::uint64_t kSeeds = 20;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Counts table = counts(split, kDataSplitWorkers, seed);
    for (std::int32_t label = 0; label < 10; ++label) {
      std::size_t most = 0, all = 0;
      for (const auto& shard : table) {
        const auto found = shard.find(label);
        if (found == shard.end()) continue;
        most = std::max(most, found->second);
        all += found->second;
      }
      sum += static_cast<double>(most) / static_cast<double>(all);
    }
  }
  return sum / (10 * kSeeds);
}

// For the largest of five shares, Dir(1) has the mean (1 + 1/2 + 1/3 + 1/4 + 1/5) / 5 = 0.457; the extremes are 1 and
// 0.2.
TEST(Owners, DirichletIsTheMoreUnevenTheLowerAlpha) {
  EXPECT_NEAR(concentration("dirichlet(1)"), 0.457, 0.03);
  EXPECT_GT(concentration("dirichlet(0.001)"), 0.98);
  EXPECT_NEAR(concentration("dirichlet(100000)"), 0.2, 0.01);
}

TEST(Owners, MoreWorkersThanSamplesIsFine) {
  const std::vector<std::int32_t> few = {0, 0, 1};
  for (const char* split : {"dirichlet(0.1)", "by_label(10000)"})
    EXPECT_EQ(owners(*parse_split(split), few, 8, 1).size(), 3u) << split;
  EXPECT_TRUE(owners(*parse_split("dirichlet(1)"), {}, 2, 1).empty());
}

}  // namespace
}  // namespace mangrove::train
