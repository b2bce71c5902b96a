#include "mangrove/plan/tile_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mangrove/base/table.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/tile_partitioner.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::plan {
namespace {

/// A network, and the same devices for its tiles and its stages. Each operator takes a device 10 ms, and the links take
/// next to nothing.
struct Both {
  Graph graph;
  TileProblem tiles{.graph = graph, .devices = {}};
  Problem pipeline;

  Both(std::size_t devices, Bytes memory) : graph(zoo::build_model("lenet", {}).value()) {
    const GraphLayers layers = layers_of(graph, 1, false);
    pipeline.network = layers.network;
    pipeline.objective = Objective::latency;
    const std::vector<Seconds> seconds(graph.nodes().size(), 0.01);
    for (std::size_t d = 0; d < devices; ++d) {
      const std::string name = "n" + std::to_string(d);
      tiles.devices.push_back({.name = name, .seconds = seconds, .memory = memory, .rate = 1e9});
      pipeline.devices.push_back({.name = name, .seconds = layers.sums(seconds), .memory = memory, .rate = 1e9});
    }
  }
  Both(const Both&) = delete;

  std::vector<TileAlternative> alternatives() const {
    const auto chosen = tile_partitioners().front().plan(tiles);
    EXPECT_TRUE(chosen.ok()) << chosen.error().message;
    return chosen.ok() ? tile_alternatives(tiles, pipeline, *chosen) : std::vector<TileAlternative>();
  }
};

const TileAlternative& named(const std::vector<TileAlternative>& all, std::string_view name) {
  return *std::ranges::find(all, name, &TileAlternative::name);
}

TEST(TileAlternatives, AreOneBoardThePipelineAndEveryPartitioner) {
  const Both both(3, 0);
  const std::vector<TileAlternative> all = both.alternatives();
  std::vector<std::string> wanted = {std::string(kOneBoard), std::string(kPipeline)};
  for (const std::string& name : row_names(tile_partitioners())) wanted.push_back(name);
  EXPECT_EQ(row_names(all), wanted);
  const TileAlternative& chosen = named(all, tile_partitioners().front().name);
  EXPECT_EQ(chosen.why_it_lost, "");
  for (const TileAlternative& other : all) {
    EXPECT_EQ(other.why_not, "") << other.name;
    EXPECT_GT(other.latency, 0) << other.name;
    EXPECT_GT(other.rate, 0) << other.name;
    EXPECT_GT(other.memory, 0) << other.name;
    EXPECT_GE(other.latency, chosen.latency * (1 - 1e-9)) << other.name;
    EXPECT_EQ(other.why_it_lost.empty(), other.name == chosen.name) << other.name;
  }
  EXPECT_GT(chosen.devices, 1u);
  const TileAlternative& one = named(all, kOneBoard);
  EXPECT_EQ(one.devices, 1u);
  EXPECT_EQ(one.work, 1);
  EXPECT_EQ(one.sent, 0);
  EXPECT_NEAR(one.latency, 0.01 * static_cast<double>(both.graph.nodes().size()), 1e-9);
  EXPECT_NE(one.why_it_lost.find(" times as long as auto"), std::string::npos) << one.why_it_lost;
  EXPECT_NE(named(all, kPipeline).why_it_lost.find("it answers no sample sooner than one board"), std::string::npos);
}

TEST(TileAlternatives, SayWhyThereIsNone) {
  const std::vector<TileAlternative> enough = Both(3, 0).alternatives();
  const Bytes alone = named(enough, kOneBoard).memory;
  const Both both(3, alone - 1);
  const std::vector<TileAlternative> all = both.alternatives();
  EXPECT_NE(named(all, kOneBoard).why_not.find("'n2'"), std::string::npos) << named(all, kOneBoard).why_not;
  EXPECT_EQ(named(all, kOneBoard).why_it_lost, "");
  for (const TileAlternative& other : all)
    if (other.why_not.empty()) {
      EXPECT_LT(other.memory, alone) << other.name;
    }
}

TEST(TileAlternatives, AreAlikeWhereOneBoardIsAllThereIs) {
  for (const TileAlternative& other : Both(1, 0).alternatives())
    if (other.name == kOneBoard || other.name == kPipeline) {
      EXPECT_EQ(other.why_it_lost, "answers no sample sooner than auto") << other.name;
    }
}

}  // namespace
}  // namespace mangrove::plan
