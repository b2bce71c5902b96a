// ConvInteger, MatMulInteger and DynamicQuantizeLinear give on every backend, to the last bit, what the portable
// kernels give, as files have them and after the rewriting passes.
#include <gtest/gtest.h>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/integer_cases.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

std::vector<IntegerCase> integer_convolutions() {
  const Tensor seven = zero_point_of(DType::u8, 7), most = zero_point_of(DType::u8, 255);
  const auto by_channel = [](std::int64_t channels) { return uniform_tensor(DType::i8, {channels}, 9, -128, 127); };
  return {
      {.name = "padded",
       .op = "ConvInteger",
       .x = {kBatch, 16, 7, 6},
       .w = {32, 16, 3, 3},
       .x_zero = seven,
       .attributes = kIntegerSame},
      // Odd depths: no float holds the sums of the highest bytes, which are odd and beyond 2^24.
      {.name = "deep",
       .op = "ConvInteger",
       .x = {kBatch, 321, 4, 4},
       .w = {24, 321, 3, 3},
       .x_zero = most,
       .attributes = kIntegerSame},
      {.name = "deep_without_zeros",
       .op = "ConvInteger",
       .x = {kBatch, 341, 3, 5},
       .w = {8, 341, 1, 3},
       .w_type = DType::u8},
      {.name = "large",
       .op = "ConvInteger",
       .x = {kBatch, 32, 40, 37},
       .w = {32, 32, 3, 3},
       .x_type = DType::i8,
       .x_zero = zero_point_of(DType::i8, -5),
       .w_zero = by_channel(32),
       .attributes = kIntegerSame},
      {.name = "long",
       .op = "ConvInteger",
       .x = {kBatch, 40, 5001},
       .w = {24, 40, 5},
       .x_zero = seven,
       .attributes = {{"pads", Sizes{2, 2}}, {"strides", Sizes{2}}}},
      {.name = "unsigned_weights",
       .op = "ConvInteger",
       .x = {kBatch, 16, 7, 6},
       .w = {20, 16, 3, 3},
       .w_type = DType::u8,
       .x_zero = seven,
       .w_zero = zero_point_of(DType::u8, 131),
       .attributes = kIntegerSame},
      {.name = "unsigned_weights_without_zero",
       .op = "ConvInteger",
       .x = {kBatch, 3, 9, 9},
       .w = {8, 3, 5, 3},
       .w_type = DType::u8,
       .attributes = windows({2, 0, 1, 2}, {2, 3})},
      {.name = "signed",
       .op = "ConvInteger",
       .x = {kBatch, 8, 6, 5},
       .w = {16, 8, 3, 3},
       .x_type = DType::i8,
       .x_zero = zero_point_of(DType::i8, -5),
       .w_zero = zero_point_of(DType::i8, 3),
       .attributes = kIntegerSame},
      {.name = "signed_without_zero",
       .op = "ConvInteger",
       .x = {kBatch, 8, 6, 5},
       .w = {16, 8, 1, 1},
       .x_type = DType::i8},
      {.name = "zero_by_channel",
       .op = "ConvInteger",
       .x = {kBatch, 16, 6, 5},
       .w = {12, 16, 3, 3},
       .x_zero = seven,
       .w_zero = by_channel(12),
       .attributes = windows({1, 1, 1, 1}, {2, 1})},
      {.name = "grouped",
       .op = "ConvInteger",
       .x = {kBatch, 32, 6, 5},
       .w = {64, 16, 3, 3},
       .w_type = DType::u8,
       .x_zero = seven,
       .w_zero = zero_point_of(DType::u8, 120),
       .attributes = windows({1, 1, 1, 1}, {1, 1}, 2)},
      {.name = "depthwise",
       .op = "ConvInteger",
       .x = {kBatch, 40, 9, 8},
       .w = {40, 1, 3, 3},
       .w_type = DType::u8,
       .x_zero = seven,
       .w_zero = zero_point_of(DType::u8, 120),
       .attributes = windows({1, 1, 1, 1}, {2, 2}, 40)},
      {.name = "depthwise_without_zero",
       .op = "ConvInteger",
       .x = {kBatch, 32, 9, 8},
       .w = {32, 1, 3, 3},
       .attributes = windows({1, 1, 1, 1}, {1, 1}, 32)},
      {.name = "dilated",
       .op = "ConvInteger",
       .x = {kBatch, 4, 9, 9},
       .w = {5, 4, 3, 3},
       .x_zero = seven,
       .attributes = windows({2, 2, 2, 2}, {1, 1}, 1, {2, 2})},
      {.name = "window_beyond_the_input",
       .op = "ConvInteger",
       .x = {kBatch, 4, 3, 3},
       .w = {6, 4, 5, 5},
       .w_type = DType::u8,
       .x_zero = seven,
       .w_zero = seven,
       .attributes = windows({4, 4, 4, 4}, {1, 1})},
      {.name = "one_dimension",
       .op = "ConvInteger",
       .x = {kBatch, 8, 20},
       .w = {16, 8, 5},
       .x_zero = seven,
       .attributes = {{"pads", Sizes{2, 2}}}},
      {.name = "computed_weights",
       .op = "ConvInteger",
       .x = {kBatch, 4, 6, 6},
       .w = {5, 4, 3, 3},
       .x_zero = seven,
       .attributes = kIntegerSame,
       .computed_weights = true},
  };
}

std::vector<IntegerCase> integer_matmuls() {
  const Tensor twelve = zero_point_of(DType::u8, 12);
  const std::string op = "MatMulInteger";
  return {
      {.name = "matrices", .op = op, .x = {kBatch, 40}, .w = {40, 24}, .x_zero = twelve},
      {.name = "deep", .op = op, .x = {kBatch, 3001}, .w = {3001, 17}, .x_zero = zero_point_of(DType::u8, 255)},
      {.name = "deep_without_zeros", .op = op, .x = {kBatch, 1023}, .w = {1023, 9}, .w_type = DType::u8},
      {.name = "wrapping_around", .op = op, .x = {kBatch, 33201}, .w = {33201, 3}, .w_type = DType::u8},
      {.name = "large",
       .op = op,
       .x = {kBatch, 259, 65},
       .w = {65, 64},
       .x_zero = twelve,
       .w_zero = zero_point_of(DType::i8, -100)},
      {.name = "unsigned_weights",
       .op = op,
       .x = {kBatch, 7, 33},
       .w = {33, 19},
       .w_type = DType::u8,
       .x_zero = twelve,
       .w_zero = zero_point_of(DType::u8, 140)},
      {.name = "unsigned_weights_without_zero", .op = op, .x = {kBatch, 64}, .w = {64, 64}, .w_type = DType::u8},
      {.name = "signed",
       .op = op,
       .x = {kBatch, 3, 64},
       .w = {64, 30},
       .x_type = DType::i8,
       .x_zero = zero_point_of(DType::i8, 9),
       .w_zero = zero_point_of(DType::i8, -100)},
      {.name = "stacks", .op = op, .x = {kBatch, 3, 5, 16}, .w = {3, 16, 9}, .x_zero = twelve},
      {.name = "computed_weights",
       .op = op,
       .x = {kBatch, 5, 16},
       .w = {16, 9},
       .w_type = DType::u8,
       .x_zero = twelve,
       .computed_weights = true},
      {.name = "one_column", .op = op, .x = {kBatch, 300}, .w = {300, 1}, .x_zero = twelve},
  };
}

class IntegerProducts : public ::testing::TestWithParam<std::vector<IntegerCase> (*)()> {};

TEST_P(IntegerProducts, AreExactOnEveryBackend) {
  for (const IntegerCase& c : GetParam()()) {
    for (const Draw draw : {Draw::all, Draw::extremes, Draw::highest}) {
      const Graph graph = graph_of(c, draw);
      const auto expected = run_drawn(graph, {"portable"}, draw);
      for (const std::string& backend : fast_backends()) {
        for (const Setting& setting :
             {Setting{backend, false, 1}, Setting{backend, true, 1}, Setting{backend, true, 3}}) {
          SCOPED_TRACE(c.name + " on " + backend + (setting.optimized ? ", optimized" : ""));
          expect_same_bits(run_drawn(graph, setting, draw)->output_tensor("y"), expected->output_tensor("y"));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Convolutions, IntegerProducts, ::testing::Values(integer_convolutions));
INSTANTIATE_TEST_SUITE_P(Matrices, IntegerProducts, ::testing::Values(integer_matmuls));

// Columns of the whole plane would take 9 MiB.
TEST(IntegerConvolutions, TakeLittleScratchSpaceForLargePlanes) {
  const IntegerCase c{
      .name = "", .op = "ConvInteger", .x = {kBatch, 16, 128, 128}, .w = {8, 16, 3, 3}, .attributes = kIntegerSame};
  auto program = Program::compile(graph_of(c, Draw::all), {.batch = 1, .backend = "simd"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto& steps = (*program)->forward_steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_GT(steps[0].step.workspace, 0);
  EXPECT_LE(steps[0].step.workspace, MiB(1) + KiB(64));
}

TEST(DynamicQuantize, EqualsPortableOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{kBatch, 3}, Shape{kBatch, 5, 77}, Shape{kBatch, 8, 40, 31}, Shape{5000, 7}}) {
    GraphSketch sketch(DType::f32);
    const Graph graph = sketch.input("x", shape)
                            .node_of_several("DynamicQuantizeLinear", {"x"}, {"y", "scale", "zero"})
                            .create({"y", "scale", "zero"});
    const auto expected = run_drawn(graph, {"portable"}, Draw::all);
    for (const std::string& backend : fast_backends()) {
      for (const int threads : {1, 2, 5}) {
        SCOPED_TRACE(backend + " " + to_string(shape));
        const auto found = run_drawn(graph, {backend, false, threads}, Draw::all);
        for (const std::string& name : graph.outputs()) {
          expect_same_bits(found->output_tensor(name), expected->output_tensor(name));
        }
      }
    }
  }
}

}  // namespace
}  // namespace mangrove
