#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "tests/base/sanitizer.h"
#include "tests/sim/simulated_job.h"

#include "mangrove/data/subset.h"
#include "mangrove/learn/evaluate.h"

namespace mangrove::sim {
namespace {

using nlohmann::json;

constexpr std::int64_t kFaultSeedsSamples = 60;
constexpr std::size_t kDevices = 4;
constexpr std::uint64_t kFaultSeedsSeeds = kSanitized ? 19 : 200;  // of each form of a strategy
constexpr Seconds kWindow = 8;                                     // an undisturbed job takes about as long

/// As slow as lets some faults hit every part of a job.
World seeded_boards() {
  World world = boards(kDevices);
  for (Device& device : world.devices) {
    device.flops = 3e6;
    device.up = device.down = 125e3;
    device.line = {.delay = 0.01, .jitter = 0.005};
  }
  return world;
}

/// Whether at some time no worker was left, as the log tells.
bool all_were_lost(const std::string& log) {
  std::istringstream lines(log);
  std::multiset<std::string> alive;
  for (std::string line; std::getline(lines, line);) {
    const json entry = json::parse(line);
    if (entry["event"] == "joined" && entry["rank"] != 0) alive.insert(entry["node"]);
    if (entry["event"] != "event" || entry["report"]["event"] != "node_lost") continue;
    alive.erase(alive.find(entry["report"]["node"]));
    if (alive.empty()) return true;
  }
  return false;
}

/// The loss on the first test samples of the glyphs.
double test_loss(const std::vector<float>& parameters) {
  const auto data = data::first_samples(*data::open_dataset("glyphs", data::Split::test, {}), kFaultSeedsSamples);
  const Graph graph = *learn::with_flat_parameters(train::small_graph(), parameters);
  const auto replica = *learn::Replica::create(graph, {.batch = 8, .mode = Mode::inference, .backend = "portable"});
  return learn::evaluate(*replica, data)->loss;
}

class RandomFaults : public ::testing::TestWithParam<train::StrategyCase> {};

TEST_P(RandomFaults, LoseNoSampleAndEndTheJobInGoodOrder) {
  const train::TrainJob job = train::job_of(GetParam(), kFaultSeedsSamples);
  const World world = seeded_boards();
  int done = 0, disturbed = 0;
  for (std::uint64_t seed = 1; seed <= kFaultSeedsSeeds; ++seed) {
    SCOPED_TRACE("fault seed " + std::to_string(seed));
    const json run = simulated(job, world, draw_faults(world, seed, kWindow), 3600);
    if (run.value("status", "") == "unavailable" && all_were_lost(run.value("log", ""))) continue;
    ASSERT_EQ(run.value("status", ""), "ok") << run.value("message", "");
    ++done;
    disturbed += run.value("log", "").find(R"("event":"node_lost")") != std::string::npos ? 1 : 0;
    const json& result = run["result"];
    EXPECT_EQ(result["samples"], job.epochs() * job.limit());
    std::int64_t classified = 0;
    for (const json& row : result["confusion"])
      for (const std::int64_t count : row) classified += count;
    EXPECT_EQ(classified, job.limit());
    const auto parameters = run["parameters"].get<std::vector<float>>();
    for (const float parameter : parameters) ASSERT_TRUE(std::isfinite(parameter));
    // the workers classified with their own copies, and the leader reported its own
    EXPECT_NEAR(result["test_loss"].get<double>(), test_loss(parameters), 1e-4);
  }
  EXPECT_GE(done, static_cast<int>(kFaultSeedsSeeds) * 15 / 19);
  EXPECT_GE(disturbed, static_cast<int>(kFaultSeedsSeeds) * 9 / 19) << "of most, a worker must be lost";
}

INSTANTIATE_TEST_SUITE_P(Strategies, RandomFaults, ::testing::ValuesIn(train::every_strategy()), train::name_of);

}  // namespace
}  // namespace mangrove::sim
