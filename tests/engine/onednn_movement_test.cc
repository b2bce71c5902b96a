// Concat and Resize between convolutions stay in oneDNN's blocked layouts.
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

const std::map<std::string, Attribute> kOnednnMovementSame{{"pads", Ints{1, 1, 1, 1}}};

/// Two convolutions of `channels` joined, and one more.
Graph joined(std::int64_t first, std::int64_t second) {
  return GraphSketch(DType::f32)
      .input("x", {kBatch, 16, 6, 5})
      .parameter("a.w", {first, 16, 3, 3}, -0.2, 0.2)
      .parameter("b.w", {second, 16, 3, 3}, -0.2, 0.2)
      .parameter("c.w", {16, first + second, 3, 3}, -0.2, 0.2)
      .node("Conv", {"x", "a.w"}, "a", kOnednnMovementSame)
      .node("Conv", {"x", "b.w"}, "b", kOnednnMovementSame)
      .node("Concat", {"a", "b"}, "joined", {{"axis", std::int64_t{1}}})
      .node("Conv", {"joined", "c.w"}, "y", kOnednnMovementSame)
      .create({"y"});
}

Graph enlarged(const std::string& mode) {
  return GraphSketch(DType::f32)
      .input("x", {kBatch, 16, 6, 5})
      .parameter("a.w", {32, 16, 3, 3}, -0.2, 0.2)
      .parameter("b.w", {16, 32, 3, 3}, -0.2, 0.2)
      .constant("scales", Tensor::of<float>(Shape{4}, {1, 1, 2, 2}))
      .node("Conv", {"x", "a.w"}, "a", kOnednnMovementSame)
      .node("Resize", {"a", "", "scales"}, "large", {{"mode", mode}})
      .node("Conv", {"large", "b.w"}, "y", kOnednnMovementSame)
      .create({"y"});
}

void expect_movement_equals_portable(const Graph& graph) {
  const auto found = make_execution(graph, "onednn", 2), expected = make_execution(graph, "portable", 2);
  ASSERT_TRUE(found && expected);
  expect_close(run_step(*found, 3), run_step(*expected, 3), 1e-4);
}

std::string trace(const Graph& graph) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = 2;
  options.backend = "onednn";
  const auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok());
  return (*program)->describe();
}

TEST(OnednnConcat, EqualsPortable) {
  expect_movement_equals_portable(joined(32, 16));
  expect_movement_equals_portable(joined(24, 12));
  expect_movement_equals_portable(joined(5, 3));
}

TEST(OnednnConcat, OfWholeBlocksNeedsNoReorder) {
  const std::string text = trace(joined(32, 16));
  EXPECT_EQ(text.find("joined reorder"), std::string::npos) << text;
  EXPECT_EQ(text.find("reorder joined"), std::string::npos) << text;
  EXPECT_EQ(text.find("reorder gradient of joined"), std::string::npos) << text;
}

TEST(OnednnResampling, EqualsPortable) {
  expect_movement_equals_portable(enlarged("nearest"));
  expect_movement_equals_portable(enlarged("linear"));
}

TEST(OnednnResampling, NeedsNoReorder) {
  for (const std::string mode : {"nearest", "linear"}) {
    const std::string text = trace(enlarged(mode));
    EXPECT_EQ(text.find("is portable"), std::string::npos) << text;
    EXPECT_EQ(text.find("large reorder"), std::string::npos) << text;
    EXPECT_EQ(text.find("reorder gradient of large"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mangrove
#endif  // MANGROVE_WITH_ONEDNN
