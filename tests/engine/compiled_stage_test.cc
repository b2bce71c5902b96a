#include "mangrove/engine/compiled_stage.h"

#include <gtest/gtest.h>

#include "tests/graph/small_networks.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/cut.h"

namespace mangrove {
namespace {

using Names = std::vector<std::string>;

TEST(ValuesAtCut, IsOneValueInAChain) {
  const Graph graph = small_graph();
  EXPECT_EQ(values_at_cut(graph, 0), Names{"input"});
  for (std::size_t i = 1; i <= kSmallOperators; ++i) EXPECT_EQ(values_at_cut(graph, i), graph.nodes()[i - 1].outputs);
  EXPECT_EQ(elements_at_cut(graph, 1, 2), 2 * 4 * 24 * 24);
}

TEST(ValuesAtCut, HasWhatSkipsOperatorsToo) {
  const Graph graph = skipping_graph();
  EXPECT_EQ(values_at_cut(graph, 2), Names{"a"});
  EXPECT_EQ(values_at_cut(graph, 3), (Names{"a", "b"}));
  EXPECT_EQ(values_at_cut(graph, 4), (Names{"a", "c"}));
  EXPECT_EQ(values_at_cut(graph, 5), Names{"d"});
  EXPECT_EQ(elements_at_cut(graph, 3, 5), 5 * 24);
}

TEST(InOrder, KeepsAnOrderThatIsOne) {
  const Graph graph = skipping_graph();
  const std::vector<std::uint32_t> same = {0, 1, 2, 3, 4, 5};
  const Result<Graph> ordered = in_order(graph, same);
  ASSERT_TRUE(ordered.ok()) << ordered.error().message;
  for (std::size_t i = 0; i < same.size(); ++i) EXPECT_EQ(ordered->nodes()[i].name, graph.nodes()[i].name);
  for (const std::vector<std::uint32_t>& wrong :
       {std::vector<std::uint32_t>{0, 1, 3, 2, 4, 5}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 4}, {0, 1, 2, 3, 4, 6}, {}})
    EXPECT_EQ(in_order(graph, wrong).code(), Code::invalid_argument);
}

std::span<const float> run_stage(CompiledStage& stage, std::int64_t count, std::span<const float> values) {
  const std::span<float> input = stage.input(count);
  EXPECT_EQ(input.size(), values.size());
  std::ranges::copy(values, input.begin());
  return stage.run(count);
}

class Cuts : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Cuts, TwoStagesComputeWhatOneDoes) {
  for (const Graph& graph : {small_graph(), skipping_graph()}) {
    const std::size_t n = graph.nodes().size();
    if (GetParam() >= n) continue;
    const CompiledStageOptions options{4, "portable", 1};
    auto whole = CompiledStage::create(graph, 0, n, options);
    auto front = CompiledStage::create(graph, 0, GetParam(), options);
    auto back = CompiledStage::create(graph, GetParam(), n, options);
    ASSERT_TRUE(whole.ok() && front.ok() && back.ok());
    Random random(1);
    for (const std::int64_t count : {4, 1, 3}) {
      std::vector<float> input(static_cast<std::size_t>(count * 784));
      for (float& value : input) value = static_cast<float>(random.uniform());
      const std::span<const float> expected = run_stage(**whole, count, input);
      const std::span<const float> found = run_stage(**back, count, run_stage(**front, count, input));
      ASSERT_EQ(found.size(), static_cast<std::size_t>(count * 10));
      EXPECT_TRUE(std::ranges::equal(found, expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CompiledStage, Cuts, ::testing::Range<std::size_t>(1, kSmallOperators));

}  // namespace
}  // namespace mangrove
