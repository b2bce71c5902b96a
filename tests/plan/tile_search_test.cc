#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tests/plan/tile_problems.h"

#include "mangrove/plan/tile_run.h"
#include "mangrove/plan/tiles.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::plan {
namespace {

using testing::best_single;
using testing::board;
using testing::model;
using testing::random_boards;
using testing::small_convolutions;

/// The best plan of two devices, whose tiles are strips, by trying all. Both have all memory that they need.
class EveryTilePlan {
 public:
  explicit EveryTilePlan(const TileProblem& problem) : costs_(problem), links_(problem) {
    for (std::size_t first = 0; first < costs_.segments(); ++first)
      for (std::size_t last = first + 1; last <= costs_.segments(); ++last) add_steps(first, last);
  }

  Seconds least_latency() {
    for (const std::size_t source : {0, 1}) go_on(TileRun(costs_, links_, source), 0);
    return least_;
  }

 private:
  void add_steps(std::size_t first, std::size_t last) {
    std::vector<TileStep>& steps = steps_[{first, last}];
    for (const std::size_t device : {0, 1}) steps.push_back(whole_step(costs_, first, last, device));
    if (!costs_.can_be_tiled(first, last)) return;
    const Region plane = costs_.plane(last - 1);
    for (const std::size_t upper : {0, 1}) {
      for (std::int64_t row = 1; row < plane.bottom; ++row) {
        const std::vector<TilePart> parts = {{upper, {0, 0, row, plane.right}},
                                             {1 - upper, {row, 0, plane.bottom, plane.right}}};
        if (auto step = tiled_step(costs_, first, last, parts)) steps.push_back(std::move(*step));
      }
    }
  }

  void go_on(const TileRun& run, std::size_t first) {
    for (std::size_t last = first + 1; last <= costs_.segments(); ++last) {
      for (const TileStep& step : steps_[{first, last}]) {
        if (first == 0 && !step.is_tiled() && step.tasks.front().device != run.source()) continue;
        TileRun next = run;
        next.advance(step);
        if (last == costs_.segments()) {
          next.finish();
          least_ = std::min(least_, next.latest());
        } else if (next.earliest() < least_) {  // what comes later is not sooner
          go_on(next, last);
        }
      }
    }
  }

  TileCosts costs_;
  const TileLinks links_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<TileStep>> steps_;
  Seconds least_ = std::numeric_limits<double>::infinity();
};

/// For the latency.
TilePlan only_plan(const TileProblem& problem) {
  const Result<std::vector<TilePlan>> plans = plan_tiles(problem);
  EXPECT_TRUE(plans.ok());
  EXPECT_EQ(plans->size(), 1u);
  return plans->front();
}

TEST(PlanTiles, IsNearlyTheBestOfAllPlansOfTwoDevices) {
  Random random(1);
  int best = 0;
  constexpr int kInstances = 40;
  for (int i = 0; i < kInstances; ++i) {
    const Graph graph = small_convolutions(3, 8, i % 2 == 0 ? 0 : 2);
    const TileProblem problem{.graph = graph, .devices = random_boards(graph, 2, random)};
    const TilePlan plan = only_plan(problem);
    const Seconds least = EveryTilePlan(problem).least_latency();
    EXPECT_LT(plan.latency, 1.01 * least) << "instance " << i;
    best += plan.latency < least * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_GE(best, 35);
}

TEST(PlanTiles, IsPricedAsItIsAndNeverSlowerThanOneDevice) {
  Random random(2);
  for (const char* name : {"vgg-11", "resnet-18", "mobilenetv2"}) {
    const Graph graph = model(name, 64);
    for (std::size_t devices = 1; devices <= 5; ++devices) {
      const TileProblem problem{.graph = graph, .devices = random_boards(graph, devices, random)};
      const TilePlan plan = only_plan(problem);
      EXPECT_LE(plan.latency, best_single(problem) * (1 + 1e-9)) << name << " on " << devices;
      const Result<TilePlan> again = price_tiles(problem, plan.source, plan.blocks);
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(again->latency, plan.latency);
      EXPECT_EQ(again->blocks.front().parts.front().busy, plan.blocks.front().parts.front().busy);
    }
  }
}

TEST(PlanTiles, UsesDevicesThatAreEqualEqually) {
  const Graph graph = model("vgg-11");
  const TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(4, board(graph, 5e9, 125e6))};
  const TilePlan plan = only_plan(problem);
  EXPECT_EQ(plan.devices().size(), 4u);
  EXPECT_GT(best_single(problem) / plan.latency, 3.5);
  EXPECT_EQ(plan.limiting.substr(0, 12), "computing on");
}

TEST(PlanTiles, GivesFastDevicesLargeTiles) {
  const Graph graph = model("vgg-11");
  const TileProblem problem{.graph = graph, .devices = {board(graph, 2e9, 125e6), board(graph, 6e9, 125e6)}};
  const TilePlan plan = only_plan(problem);
  ASSERT_TRUE(plan.blocks.front().is_tiled());
  double area[2] = {};
  for (const TilePart& part : plan.blocks.front().parts) area[part.device] = static_cast<double>(part.output.area());
  EXPECT_NEAR(area[1] / area[0], 3, 0.3);
  EXPECT_GT(best_single(problem) / plan.latency, 1.25);
}

TEST(PlanTiles, ExchangesLessOverASlowLink) {
  const Graph graph = model("resnet-18");
  const auto plan_at = [&](BytesPerSecond rate) {
    return only_plan({.graph = graph, .devices = std::vector<TileDevice>(4, board(graph, 5e9, rate))});
  };
  const TilePlan fast = plan_at(125e6), slow = plan_at(3e6), slower = plan_at(1e5);
  EXPECT_LT(slow.sent, fast.sent);
  EXPECT_LT(slow.blocks.size(), fast.blocks.size());
  EXPECT_GT(slow.work, fast.work);  // halos are computed instead
  EXPECT_EQ(slower.devices().size(), 1u);
  EXPECT_EQ(slower.blocks.size(), 1u);
}

TEST(PlanTiles, LeavesOutADeviceThatIsFarAway) {
  const Graph graph = model("resnet-18");
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(3, board(graph, 5e9, 125e6))};
  problem.ways[{0, 1}] = problem.ways[{0, 2}] = {.rate = 1e5, .delay = 0.1};
  EXPECT_EQ(only_plan(problem).devices(), (std::vector<std::size_t>{1, 2}));
}

TEST(PlanTiles, TilesWhatFitsOnNoDevice) {
  const Graph graph = small_convolutions(3, 64, 3);
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(3, board(graph, 1e9, 1e5))};
  problem.weights.resize(graph.nodes().size(), 0);
  const TilePlan whole = only_plan(problem);
  EXPECT_EQ(whole.devices().size(), 1u);  // links are slow
  for (TileDevice& device : problem.devices) device.memory = whole.memory[whole.source] * 2 / 3;
  EXPECT_TRUE(only_plan(problem).blocks.front().is_tiled());
}

TEST(PlanTiles, DividesWeightsThatFitOnNoDevice) {
  const Graph graph = model("vgg-11", 64);
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(3, board(graph, 5e9, 125e6))};
  const TilePlan unlimited = only_plan(problem);
  for (TileDevice& device : problem.devices) device.memory = MiB(90);
  const TilePlan plan = only_plan(problem);
  for (std::size_t d = 0; d < 3; ++d) EXPECT_LE(plan.memory[d], MiB(90));
  EXPECT_GT(unlimited.memory[unlimited.source], MiB(90));
  EXPECT_GE(plan.latency, unlimited.latency);
}

TEST(PlanTiles, SaysHowMuchMemoryWouldDo) {
  const Graph graph = small_convolutions(3, 64);
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(2, board(graph, 1e9, 1e7))};
  for (TileDevice& device : problem.devices) device.memory = 1000;
  const Result<std::vector<TilePlan>> plans = plan_tiles(problem);
  ASSERT_EQ(plans.code(), Code::resource_exhausted);
  const std::string& message = plans.error().message;
  const std::size_t from = message.find("with ") + 5;
  const Result<Bytes> least = parse_bytes(message.substr(from, message.find(" on each") - from));
  ASSERT_TRUE(least.ok()) << message;
  for (TileDevice& device : problem.devices) device.memory = *least;
  EXPECT_TRUE(plan_tiles(problem).ok()) << message;
  for (TileDevice& device : problem.devices) device.memory = *least * 95 / 100;
  EXPECT_FALSE(plan_tiles(problem).ok()) << message;
}

double answers_a_second(const std::vector<TilePlan>& plans) {
  double sum = 0;
  for (const TilePlan& plan : plans) sum += 1 / plan.period;
  return sum;
}

TEST(PlanTiles, HasAllDevicesAnswerAloneForTheThroughput) {
  const Graph graph = model("resnet-18", 64);
  Random random(3);
  TileProblem problem{.graph = graph, .devices = random_boards(graph, 4, random)};
  problem.objective = Objective::throughput;
  const Result<std::vector<TilePlan>> plans = plan_tiles(problem);
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  ASSERT_EQ(plans->size(), 4u);
  for (const TilePlan& plan : *plans) EXPECT_EQ(plan.blocks.size(), 1u);
  EXPECT_LE(plans->front().period, plans->back().period);
}

TEST(PlanTiles, MakesTeamsForTheThroughputWhereMemoryIsShort) {
  const Graph graph = model("vgg-11", 64);
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(5, board(graph, 5e9, 125e6))};
  problem.objective = Objective::throughput;
  const double alone = answers_a_second(*plan_tiles(problem));
  for (std::size_t d = 1; d < 5; ++d) problem.devices[d].memory = MiB(90);
  const Result<std::vector<TilePlan>> plans = plan_tiles(problem);
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  std::vector<std::size_t> devices;
  for (const TilePlan& plan : *plans) {
    for (const std::size_t device : plan.devices()) devices.push_back(device);
    for (std::size_t d = 1; d < 5; ++d) EXPECT_LE(plan.memory[d], MiB(90));
  }
  std::ranges::sort(devices);
  EXPECT_EQ(devices, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(plans->size(), 3u);  // one alone, and two pairs
  EXPECT_GT(answers_a_second(*plans), 0.9 * alone);
  EXPECT_LE(answers_a_second(*plans), alone);
}

TEST(PlanTiles, IsFasterThanWhatOthersPlan) {
  const Graph graph = model("vgg-11");
  TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(4, board(graph, 5e9, 125e6))};
  for (std::size_t d = 0; d < 4; ++d)
    for (Seconds& seconds : problem.devices[d].seconds) seconds *= 1 + 0.3 * static_cast<double>(d);
  const TilePlan plan = only_plan(problem);
  double most_work = 0;
  const Tiling tiling(graph);
  for (const TileSegment& segment : tiling.segments()) {
    const Result<TilePlan> grid = even_grid(problem, segment.last);
    if (!grid.ok()) continue;
    EXPECT_LT(plan.latency, grid->latency);
    most_work = std::max(most_work, grid->work);
  }
  EXPECT_GT(most_work, 1.5 * plan.work);  // with one deep block
  EXPECT_LT(plan.latency, biased_strips(problem)->latency);
}

TEST(PlanTiles, PlansNetworksThatCannotBeTiled) {
  const Graph graph = *zoo::build_model("mlp", {.sample_shape = {1, 28, 28}, .classes = 10});
  const TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(2, board(graph, 1e9, 1e7))};
  EXPECT_EQ(only_plan(problem).blocks.size(), 1u);
  EXPECT_EQ(biased_strips(problem).code(), Code::invalid_argument);
  TileProblem none = problem;
  none.devices.clear();
  EXPECT_EQ(plan_tiles(none).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::plan
