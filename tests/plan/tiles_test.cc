#include "mangrove/plan/tiles.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/plan/tile_problems.h"

#include "mangrove/plan/tile_costs.h"

namespace mangrove::plan {
namespace {

using testing::board;
using testing::model;
using testing::small_convolutions;

/// Rows of a plane of 8 columns.
Region rows(std::int64_t top, std::int64_t bottom) {
  return {top, 0, bottom, 8};
}

/// Two convolutions of 8 seconds on 8 x 8 samples, and a dense layer of one second.
TileProblem two_slow_devices(const Graph& graph) {
  TileDevice device{.name = "n1", .seconds = {8, 8, 0, 1}};
  device.rate = 1000;
  device.delay = 0.05;
  device.byte_seconds = 1e-3;
  device.message_seconds = 0.1;
  TileDevice other = device;
  other.name = "n2";
  return {.graph = graph, .devices = {device, other}};
}

std::vector<TileBlock> two_strips() {
  return {{0, 2, {{0, rows(0, 4)}, {1, rows(4, 8)}}}, {2, 4, {{0, {}}}}};
}

TEST(PriceTiles, CountsComputingMessagesAndMemory) {
  const Graph graph = small_convolutions(2, 8);
  const Result<TilePlan> plan = price_tiles(two_slow_devices(graph), 0, two_strips());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  // n2 needs 6 of the 8 input rows: 192 bytes, handled in 0.292 s at each end, 0.192 s on the link, 0.1 s of delay.
  // Both devices compute 5 rows of the first convolution and 4 of the second: 9 s. n2's 4 rows come back, 128 bytes.
  EXPECT_NEAR(plan->latency, 0.292 + 0.192 + 0.1 + 0.292 + 9 + 0.228 + 0.128 + 0.1 + 0.228 + 1, 1e-9);
  EXPECT_NEAR(plan->blocks[0].parts[0].busy, 0.292 + 9, 1e-9);
  EXPECT_NEAR(plan->blocks[0].parts[1].busy, 0.292 + 9 + 0.228, 1e-9);
  EXPECT_NEAR(plan->blocks[1].parts[0].busy, 0.228 + 1, 1e-9);
  EXPECT_NEAR(plan->period, 0.292 + 9 + 0.228 + 1, 1e-9);
  EXPECT_EQ(plan->sent, 192 + 128);
  EXPECT_NEAR(plan->work, (720.0 + 576 + 640) / (576 + 576 + 640), 1e-9);  // multiply-adds
  EXPECT_EQ(plan->limiting, "computing on n2");
  EXPECT_EQ(plan->devices(), (std::vector<std::size_t>{0, 1}));
  // weights; 6 rows of the input and 5 behind the first convolution; the 6 rows as they are received; the whole input
  // and behind that the input of the second block, flattened, and as it is received
  EXPECT_EQ(plan->memory[0], 4 * (9 + 9 + 650) + 4 * 8 * (6 + 5) + 4 * 8 * 6 + 4 * 64 + 4 * 3 * 64);
  EXPECT_EQ(plan->memory[1], 4 * (9 + 9) + 4 * 8 * (6 + 5) + 4 * 8 * 6);
}

TEST(PriceTiles, CountsEncodedBytesOfAllSamples) {
  const Graph graph = small_convolutions(2, 8);
  TileProblem problem = two_slow_devices(graph);
  problem.batch = 3;
  problem.encoded = [](std::int64_t elements) { return elements + 7; };
  EXPECT_EQ(price_tiles(problem, 0, two_strips())->sent, 3 * 48 + 7 + 3 * 32 + 7);
}

TEST(PriceTiles, GathersATiledResultOnTheSource) {
  const Graph graph = *small_convolutions(2, 8).slice(0, 2);
  TileProblem problem = two_slow_devices(graph);
  for (TileDevice& device : problem.devices) device.seconds.resize(2);
  const Result<TilePlan> plan = price_tiles(problem, 0, {two_strips().front()});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_NEAR(plan->latency, 0.292 + 0.192 + 0.1 + 0.292 + 9 + 0.228 + 0.128 + 0.1 + 0.228, 1e-9);
  EXPECT_NEAR(plan->blocks[0].parts[0].busy, 0.292 + 9 + 0.228, 1e-9);
}

TEST(PriceTiles, SendsASummandOfAnAverageToTheNextBlock) {
  const Graph graph = model("resnet-18", 64);
  TileProblem problem{.graph = graph, .devices = {board(graph, 1e9, 1e7), board(graph, 1e9, 1e7)}};
  const std::vector<TileSegment> segments = Tiling(graph).segments();
  std::size_t average = 0;
  while (segments[average].join != TileJoin::add) ++average;
  const TileSegment& last = segments[average];
  ASSERT_EQ(last.output, (Region{0, 0, 2, 2}));
  const std::vector<TilePart> tiles = {{0, {0, 0, 1, 2}}, {1, {1, 0, 2, 2}}};
  const auto sent = [&](std::vector<TileBlock> blocks) { return price_tiles(problem, 0, std::move(blocks))->sent; };
  const TileBlock rest = {last.last, graph.nodes().size(), {{0, {}}}};
  const Bytes with_average = sent({{0, last.last, tiles}, rest});
  const Bytes without = sent({{0, last.first, tiles}, {last.first, graph.nodes().size(), {{0, {}}}}});
  EXPECT_EQ(without - with_average, 4 * (2 * 512 - 512));  // half of the plane, or an average
}

TEST(PriceTiles, SaysWhichWayIsSlow) {
  const Graph graph = small_convolutions(2, 8);
  TileProblem problem = two_slow_devices(graph);
  problem.ways[{0, 1}] = {.rate = 10};
  EXPECT_EQ(price_tiles(problem, 0, two_strips())->limiting, "the way from n1 to n2");
  problem.objective = Objective::throughput;
  EXPECT_EQ(price_tiles(problem, 0, two_strips())->limiting, "the way from n1 to n2");
  problem.ways.clear();
  problem.devices[1].rate = 10;
  EXPECT_EQ(price_tiles(problem, 0, two_strips())->limiting, "the link of n2");
}

TEST(PriceTiles, IsTheSumOverStagesOfAPipeline) {
  const Graph graph = small_convolutions(2, 8);
  const Result<TilePlan> plan = price_tiles(two_slow_devices(graph), 1, {{0, 1, {{1, {}}}}, {1, 4, {{0, {}}}}});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_NEAR(plan->latency, 8 + 0.356 + 0.256 + 0.1 + 0.356 + 9, 1e-9);
  EXPECT_NEAR(plan->period, 9 + 0.356, 1e-9);
  EXPECT_EQ(plan->work, 1);
}

TEST(PriceTiles, RefusesWhatIsNoPlan) {
  const Graph graph = small_convolutions(2, 8);
  const TileProblem problem = two_slow_devices(graph);
  const auto message = [&](std::vector<TileBlock> blocks, std::size_t source = 0) {
    const Result<TilePlan> plan = price_tiles(problem, source, std::move(blocks));
    return plan.ok() || plan.code() != Code::invalid_argument ? "no error" : plan.error().message;
  };
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const TileBlock rest = {2, 4, {{0, {}}}};
  EXPECT_TRUE(says(message({}), "no block has the last operators"));
  EXPECT_TRUE(says(message({{0, 2, {{0, {}}}}}), "no block has the last operators"));
  EXPECT_TRUE(says(message({{1, 4, {{0, {}}}}}), "block 1: plan of tiles: operators are missing or twice"));
  EXPECT_TRUE(says(message({{0, 2, {{0, {}}}}, {1, 4, {{0, {}}}}}), "missing or twice"));
  EXPECT_TRUE(says(message({{0, 0, {{0, {}}}}}), "cannot end before operator 0"));
  EXPECT_TRUE(says(message({{0, 9, {{0, {}}}}}), "cannot end before operator 9"));
  EXPECT_TRUE(says(message({{0, 4, {}}}), "no device"));
  EXPECT_TRUE(says(message({{0, 4, {{2, {}}}}}), "device 2 is not there"));
  EXPECT_TRUE(says(message({{0, 2, {{0, rows(0, 4)}, {0, rows(4, 8)}}}, rest}), "used twice"));
  EXPECT_TRUE(says(message({{0, 4, {{0, rows(0, 4)}, {1, rows(4, 8)}}}}), "cannot be tiled"));
  EXPECT_TRUE(says(message({{0, 2, {{0, rows(0, 4)}, {1, rows(5, 8)}}}, rest}), "do not cover"));
  EXPECT_TRUE(says(message({{0, 2, {{0, rows(0, 4)}, {1, rows(3, 8)}}}, rest}), "overlap"));
  EXPECT_TRUE(says(message({{0, 2, {{0, rows(0, 4)}, {1, rows(4, 9)}}}, rest}), "beyond"));
  EXPECT_TRUE(says(message({{0, 2, {{0, rows(0, 8)}, {1, rows(8, 8)}}}, rest}), "empty"));
  EXPECT_TRUE(says(message({{0, 4, {{1, {}}}}}), "the source has no tile"));
  EXPECT_TRUE(says(message({{0, 4, {{0, {}}}}}, 2), "the source is not there"));
}

TEST(PriceTiles, SaysHowMuchMemoryIsMissing) {
  const Graph graph = small_convolutions(2, 8);
  TileProblem problem = two_slow_devices(graph);
  problem.devices[1].memory = 615;
  const Result<TilePlan> plan = price_tiles(problem, 0, two_strips());
  ASSERT_EQ(plan.code(), Code::resource_exhausted);
  EXPECT_NE(plan.error().message.find("it needs 616 B on 'n2', which has 615 B"), std::string::npos)
      << plan.error().message;
  problem.weights = {8, 8, 0, 1};
  problem.devices[1].memory = 616 - 72 + 16;
  EXPECT_TRUE(price_tiles(problem, 0, two_strips()).ok());
}

TEST(PriceTiles, RefusesFiguresThatAreNoMeasurements) {
  const Graph graph = small_convolutions(2, 8);
  const auto code = [&](const auto& change) {
    TileProblem problem = two_slow_devices(graph);
    change(problem);
    const Result<TilePlan> plan = price_tiles(problem, 0, two_strips());
    return plan.ok() ? "ok" : plan.code() == Code::invalid_argument ? "invalid" : "other";
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices[1].seconds.pop_back(); }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices[1].seconds[0] = -1; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices[1].delay = kNaN; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices[1].rate = -1; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices[1].byte_seconds = -1; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.devices.clear(); }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.batch = 0; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.weights = {1}; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.ways[{1, 0}] = {}; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.ways[{0, 2}] = {}; }), "invalid");
  EXPECT_STREQ(code([](TileProblem& problem) { problem.objective = Objective::energy; }), "invalid");
  EXPECT_STREQ(code([](TileProblem&) {}), "ok");
}

/// Tiles are kept by segment, see TileCosts.
TEST(TileCosts, OfABlockAreThoseOfTheGraph) {
  for (const char* name : {"resnet-18", "mobilenetv2", "vgg-11", "squeezenet-1.1"}) {
    const Graph graph = model(name, 96);
    const TileProblem problem{.graph = graph, .devices = {board(graph, 1e9, 0)}};
    TileCosts costs(problem);
    const Tiling tiling(graph);
    Random random(7);
    for (int i = 0; i < 100; ++i) {
      const std::size_t first = random.below(costs.segments());
      const std::size_t last = first + 1 + random.below(costs.segments() - first);
      if (!costs.can_be_tiled(first, last)) continue;
      const Region plane = costs.plane(last - 1);
      Region output;
      output.top = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(plane.rows())));
      output.left = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(plane.columns())));
      output.bottom = output.top + 1 +
                      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(plane.rows() - output.top)));
      output.right = output.left + 1 +
                     static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(plane.columns() - output.left)));
      const Result<TileCost> whole = tiling.cost(costs.first_operator(first), costs.first_operator(last), output);
      const std::optional<BlockTile> tile = costs.tile(first, last, output, 0);
      ASSERT_TRUE(whole.ok() && tile) << name << " segments " << first << " to " << last;
      EXPECT_EQ(tile->input, whole->input) << name << " segments " << first << " to " << last;
      Seconds seconds = 0;
      for (std::size_t op = 0; op < whole->shares.size(); ++op)
        seconds += whole->shares[op] * problem.devices[0].seconds[costs.first_operator(first) + op];
      EXPECT_NEAR(tile->seconds, seconds, 1e-9 * seconds) << name << " segments " << first << " to " << last;
    }
  }
}

TEST(EvenGrid, IsDeepThingsGridAndTheRestOnTheFirstDevice) {
  const Graph graph = model("vgg-11", 64);
  const TileProblem problem{.graph = graph, .devices = std::vector<TileDevice>(6, board(graph, 1e9, 1e7))};
  const std::vector<TileSegment> segments = Tiling(graph).segments();
  const Result<TilePlan> plan = even_grid(problem, segments[2].first + 1);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->blocks.size(), 2u);
  EXPECT_EQ(plan->blocks[0].last, segments[2].last);
  ASSERT_EQ(plan->blocks[0].parts.size(), 6u);
  EXPECT_EQ(plan->blocks[0].parts[5].output, (Region{21, 16, 32, 32}));  // three rows of two
  EXPECT_EQ(plan->blocks[1].parts.size(), 1u);
  EXPECT_GT(plan->work, 1);
  EXPECT_EQ(even_grid(problem, graph.nodes().size()).code(), Code::invalid_argument);
}

TEST(BiasedStrips, AreAsHighAsDevicesAreFast) {
  const Graph graph = model("vgg-11", 64);
  const TileProblem problem{.graph = graph, .devices = {board(graph, 3e9, 1e7), board(graph, 1e9, 1e7)}};
  const Result<TilePlan> plan = biased_strips(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->blocks[0].parts[0].output, (Region{0, 0, 48, 64}));
  EXPECT_EQ(plan->blocks[0].parts[1].output, (Region{48, 0, 64, 64}));
  EXPECT_EQ(plan->blocks.back().parts.size(), 1u);
  EXPECT_NEAR(plan->work, 1, 1e-9);  // no halo is computed: there is one convolution in a block
}

}  // namespace
}  // namespace mangrove::plan
