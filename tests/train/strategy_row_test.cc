#include "mangrove/train/strategy_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "mangrove/train/job_settings.h"
#include "mangrove/train/keys.h"

namespace mangrove::train {
namespace {

TrainJob job_of(std::string_view strategy) {
  TrainJob job;
  job.set_strategy(std::string(strategy));
  return job;
}

TEST(StrategyRow, EachIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const Strategy& strategy : strategies()) {
    EXPECT_TRUE(names.insert(strategy.name).second) << strategy.name;
    const Result<const Strategy*> found = find_strategy(strategy.name);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, &strategy);
    EXPECT_EQ(&strategy_of(job_of(strategy.name)), &strategy);
  }
}

/// What a worker sends away, and where, is one thing for each strategy; code that asks for one trait relies on it.
TEST(StrategyRow, TraitsAgree) {
  for (const Strategy& s : strategies()) {
    const int ways = s.has_server + s.sums_gradients + s.averages_with_neighbours + (s.pipeline != nullptr);
    EXPECT_EQ(ways, 1) << s.name;
    EXPECT_FALSE(s.sends_gradients && (s.steps_locally || !s.has_server)) << s.name;
    EXPECT_FALSE(s.averages_with_neighbours && !s.steps_locally) << s.name;
    EXPECT_FALSE(s.takes_shared_samples && !s.has_own_data) << s.name;
    EXPECT_EQ(s.vectors_held > 0, s.pipeline == nullptr) << s.name;
    EXPECT_NE(s.run, nullptr) << s.name;
  }
}

TEST(StrategyRow, AnUnknownOneHasNoTraitsAndIsRefused) {
  const Strategy& unknown = strategy_of(job_of("gosip"));
  EXPECT_FALSE(unknown.has_server || unknown.sums_gradients || unknown.steps_locally);
  EXPECT_EQ(unknown.pipeline, nullptr);
  const Status status = check_job(job_of("gosip"));
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.error().message, "strategy: unknown strategy 'gosip'; did you mean 'gossip'?");
}

TEST(StrategyRow, NamesThoseWithATrait) {
  const std::string names = strategies_with(&Strategy::has_server);
  EXPECT_TRUE(names.starts_with("parameter_server, federated")) << names;
  for (const Strategy& s : strategies()) EXPECT_EQ(names.find(s.name) != std::string::npos, s.has_server) << s.name;
}

TEST(StrategyRow, OneReadsTheKeysOfAnother) {
  TrainJob job;
  Keys keys;
  add_keys(job, keys);
  for (const Strategy& row : strategies()) {
    if (row.keys_of.empty()) continue;
    for (const Key& key : keys.all()) {
      const auto reads = [&](std::string_view name) { return std::ranges::count(key.strategies, name) > 0; };
      EXPECT_TRUE(reads(row.name) || !reads(row.keys_of)) << row.name << ": " << key.name;
    }
  }
  const Key& stages = keys.at("stages");
  EXPECT_EQ(stages.strategies, (std::vector<std::string>{"gpipe", "one_f_one_b", "pipedream"}));
}

}  // namespace
}  // namespace mangrove::train
