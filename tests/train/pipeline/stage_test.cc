#include "mangrove/train/pipeline/stage.h"

#include <gtest/gtest.h>

#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/pipeline/cut.h"

namespace mangrove::train {
namespace {

/// small_graph() with dropout of the hidden layer.
Graph random_graph() {
  GraphParts parts = small_graph().parts();
  parts.nodes.push_back({"dropout", "Dropout", {}, {"squashed", "ratio"}, {"thinned"}});
  parts.nodes[3].inputs[0] = "thinned";
  parts.initializers.emplace("ratio", Tensor::of<float>(Shape{}, {0.5f}));
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

StageOptions options(std::int64_t in_flight) {
  return {.micro_batch = 4,
          .in_flight = in_flight,
          .stale_versions = 0,
          .backend = "portable",
          .threads = 1,
          .optimizer = {}};
}

learn::MemoryBudget budget(Bytes bytes) {
  return {.limit = bytes};
}

Result<std::unique_ptr<Stage>> whole(const Graph& graph, std::int64_t in_flight, Stage::Recompute recompute,
                                     Bytes bytes) {
  return Stage::create(graph, 0, graph.nodes().size(), options(in_flight), recompute, budget(bytes));
}

std::vector<float> normal(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Three micro-batches under way at once, and two updates; the state that comes of it.
std::vector<float> trained(Stage& stage, const Graph& graph) {
  std::vector<float> state(stage.state_elements());
  const std::vector<float> parameters = learn::flat_parameters(graph);
  std::copy(parameters.begin(), parameters.end(), state.begin());
  stage.write_state(state);
  const StageValues& values = stage.values();
  for (std::int64_t round = 0; round < 2; ++round) {
    for (std::int64_t i = 0; i < 3; ++i)
      stage.forward(i, normal(values.received(), static_cast<std::uint64_t>(10 * round + i)),
                    static_cast<std::uint64_t>(i));
    for (std::int64_t i = 0; i < 3; ++i)
      stage.backward(i, normal(values.gradient_received(), static_cast<std::uint64_t>(50 + i)));
    stage.update(0.1f, round + 1);
  }
  stage.read_state(state);
  return state;
}

TEST(Stage, DrawsTheSameRandomNumbersWhenItRecomputes) {
  const Graph graph = random_graph();
  const auto kept = whole(graph, 3, Stage::Recompute::never, MiB(64));
  const auto recomputed = whole(graph, 3, Stage::Recompute::always, MiB(64));
  ASSERT_TRUE(kept.ok() && recomputed.ok());
  EXPECT_TRUE((*recomputed)->recomputes());
  EXPECT_EQ(trained(**kept, graph), trained(**recomputed, graph));
}

TEST(Stage, RecomputesWhereItHasNotTheMemoryForMore) {
  const Graph graph = convolutional_graph(10);
  const auto roomy = whole(graph, 8, Stage::Recompute::where_needed, MiB(64));
  ASSERT_TRUE(roomy.ok()) << roomy.error().message;
  EXPECT_FALSE((*roomy)->recomputes());
  const Bytes needed = (*roomy)->memory().total();
  EXPECT_FALSE((*whole(graph, 8, Stage::Recompute::where_needed, needed))->recomputes());
  const auto tight = whole(graph, 8, Stage::Recompute::where_needed, needed - 1);
  ASSERT_TRUE(tight.ok()) << tight.error().message;
  EXPECT_TRUE((*tight)->recomputes());
  EXPECT_LT((*tight)->memory().total(), needed);
  EXPECT_FALSE((*whole(graph, 1, Stage::Recompute::always, needed))->recomputes()) << "nothing else is under way";
}

TEST(Stage, SaysWhatItNeedsWhereNothingFits) {
  const auto none = whole(convolutional_graph(10), 8, Stage::Recompute::where_needed, 1000);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.code(), Code::resource_exhausted);
  EXPECT_NE(none.error().message.find("use more stages or more micro_batches"), std::string::npos)
      << none.error().message;
}

TEST(Cut, KeepsSharedParametersTogether) {
  GraphParts parts = small_graph().parts();
  parts.nodes.push_back({"fc3", "Gemm", {{"transB", std::int64_t{1}}}, {"logits", "w3", "b2"}, {"more"}});
  parts.outputs = {"more"};
  parts.initializers.emplace("w3", Tensor(DType::f32, {10, 10}));
  const Graph graph = Graph::create(std::move(parts)).value();
  EXPECT_EQ(cut_positions(graph), (std::vector<std::size_t>{1, 2, 3}));  // b2 is used by both of the last two
}

TEST(Cut, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(cut_behind(small_graph(), std::vector<std::string>{"fc7"}).code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove::train
