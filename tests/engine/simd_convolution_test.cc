// Convolutions of the backend simd against the portable kernels: those that are read directly from padded rows, and
// those that are gathered, in shapes that fill vectors, strips and batches of positions, and that do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

using Numbers = std::vector<std::int64_t>;

struct ConvolutionCase {
  const char* name;
  std::int64_t batch, inputs, outputs, height, width;
  Numbers kernel;
  Numbers pads = {0, 0, 0, 0};  // above, left, below, right
  Numbers strides = {1, 1}, dilations = {1, 1};
  std::int64_t group = 1;
  const char* op = "Conv";
};

std::map<std::string, Attribute> attributes_of(const ConvolutionCase& c) {
  return {{"pads", c.pads}, {"strides", c.strides}, {"dilations", c.dilations}, {"group", c.group}};
}

Graph convolution_graph(const ConvolutionCase& c) {
  const bool transposed = std::string(c.op) == "ConvTranspose";
  return GraphSketch(DType::f32)
      .input("x", {kBatch, c.inputs, c.height, c.width})
      .parameter("w", transposed ? Shape{c.inputs, c.outputs / c.group, c.kernel[0], c.kernel[1]}
                                 : Shape{c.outputs, c.inputs / c.group, c.kernel[0], c.kernel[1]})
      .parameter("b", {c.outputs})
      .node(c.op, {"x", "w", "b"}, "y", attributes_of(c))
      .create({"y"});
}

class SimdConvolution : public ::testing::TestWithParam<ConvolutionCase> {};

TEST_P(SimdConvolution, StepEqualsPortable) {
  const Graph graph = convolution_graph(GetParam());
  const auto reference = make_execution(graph, "portable", GetParam().batch);
  ASSERT_NE(reference, nullptr);
  const StepOutcome expected = run_step(*reference, 5);
  std::vector<StepOutcome> found;
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const auto execution = make_execution(graph, "simd", GetParam().batch, true, threads);
    ASSERT_NE(execution, nullptr);
    EXPECT_EQ(execution->program().describe().find("is portable"), std::string::npos);
    found.push_back(run_step(*execution, 5));
    expect_close(found.back(), expected, 1e-5);
    EXPECT_EQ(found.back().outputs, found.front().outputs);
    EXPECT_EQ(found.back().gradients, found.front().gradients);
  }
}

/// With a residual and an activation, as inference computes them together, from weights that are packed once.
TEST_P(SimdConvolution, InferenceEqualsPortable) {
  const ConvolutionCase& c = GetParam();
  const Graph plain = convolution_graph(c);
  const Shape result = plain.value("y").shape;
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, c.inputs, c.height, c.width}).input("r", result);
  for (const char* name : {"w", "b"}) sketch.parameter(name, plain.value(name).shape);
  const Graph graph = sketch.node(c.op, {"x", "w", "b"}, "c", attributes_of(c))
                          .node("Add", {"c", "r"}, "a")
                          .node("Relu", {"a"}, "y")
                          .create({"y"});
  const auto computed = [&](const char* backend, int threads, bool fast) {
    const auto program =
        Program::compile(graph, {.batch = c.batch, .backend = backend, .fast_convolution = fast, .threads = threads});
    EXPECT_TRUE(program.ok()) << program.error().message;
    const auto execution = std::move(Execution::create(*program, threads)).value();
    EXPECT_TRUE(execution->set_input("x", uniform_tensor(DType::f32, {c.batch, c.inputs, c.height, c.width}, 3)).ok());
    EXPECT_TRUE(execution->set_input("r", uniform_tensor(DType::f32, result.with_batch(c.batch), 4)).ok());
    execution->forward();
    const auto y = execution->output<float>("y");
    return std::vector<float>(y.begin(), y.end());
  };
  const std::vector<float> expected = computed("portable", 1, false);
  const float largest = *std::ranges::max_element(expected);
  for (const bool fast : {false, true}) {
    const std::vector<float> found = computed("simd", 1, fast);
    EXPECT_EQ(computed("simd", 5, fast), found);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-5 * largest) << fast << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SimdConvolution,
    ::testing::Values(
        ConvolutionCase{"whole_vectors", 3, 5, 13, 16, 16, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"part_of_a_vector", 2, 4, 7, 7, 7, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"two_vectors_and_a_part", 2, 3, 4, 9, 23, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"vectors_left_almost_empty", 2, 3, 4, 9, 9, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"no_padding", 2, 3, 4, 10, 18, {3, 3}},
        ConvolutionCase{"uneven_padding", 2, 3, 4, 8, 13, {3, 2}, {2, 0, 0, 3}},
        ConvolutionCase{"padding_wider_than_the_kernel", 1, 2, 3, 4, 8, {2, 2}, {3, 3, 4, 3}},
        ConvolutionCase{"dilated", 2, 3, 4, 16, 16, {3, 3}, {2, 2, 2, 2}, {1, 1}, {2, 2}},
        ConvolutionCase{"five_taps", 2, 2, 6, 12, 28, {5, 5}},
        ConvolutionCase{"one_row", 3, 13, 14, 1, 40, {1, 5}, {0, 2, 0, 2}},
        ConvolutionCase{"one_column_of_taps", 2, 3, 4, 11, 8, {3, 1}, {1, 0, 1, 0}},
        ConvolutionCase{"grouped", 2, 6, 9, 8, 8, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 3},
        ConvolutionCase{"several_strips", 1, 64, 3, 40, 32, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"several_strips_of_parts_of_vectors", 1, 3, 3, 40, 31, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"winograd", 3, 16, 22, 16, 16, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"winograd_of_one_image", 1, 19, 30, 24, 48, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"winograd_of_odd_sizes", 2, 17, 16, 7, 7, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"winograd_without_padding", 2, 16, 18, 13, 16, {3, 3}},
        ConvolutionCase{"winograd_of_uneven_padding", 2, 16, 18, 6, 15, {3, 3}, {0, 2, 3, 1}},
        ConvolutionCase{"winograd_of_groups", 2, 32, 40, 8, 8, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 2},
        ConvolutionCase{"winograd_of_several_blocks_of_the_sum", 1, 300, 16, 6, 8, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"winograd_of_several_strips", 1, 64, 16, 40, 32, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"several_blocks_of_the_sum", 2, 96, 8, 8, 8, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"several_batches_of_positions", 7, 2, 65, 16, 16, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"transposed", 2, 5, 7, 8, 14, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "ConvTranspose"},
        ConvolutionCase{
            "transposed_winograd", 2, 16, 17, 8, 14, {3, 3}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1, "ConvTranspose"},
        ConvolutionCase{"transposed_strides", 2, 5, 7, 8, 9, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1, "ConvTranspose"},
        ConvolutionCase{"strides", 2, 3, 4, 17, 19, {3, 3}, {1, 1, 1, 1}, {2, 2}},
        ConvolutionCase{"strides_without_overlap", 2, 3, 4, 16, 16, {2, 2}, {0, 0, 0, 0}, {2, 2}},
        ConvolutionCase{"few_positions", 2, 21, 37, 2, 2, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"few_positions_of_a_long_sum", 1, 70, 49, 1, 3, {3, 3}, {1, 1, 1, 1}},
        ConvolutionCase{"few_positions_of_one_tap", 7, 40, 16, 1, 1, {1, 1}},
        ConvolutionCase{"few_positions_with_strides", 1, 19, 33, 5, 4, {3, 3}, {1, 1, 1, 1}, {2, 2}},
        ConvolutionCase{"few_positions_of_groups", 1, 12, 38, 2, 3, {2, 2}, {0, 1, 1, 0}, {1, 1}, {1, 1}, 2},
        ConvolutionCase{
            "few_positions_without_taps", 1, 5, 20, 1, 2, {1, 1}, {0, 0, 0, 0}, {2, 2}, {1, 1}, 1, "ConvTranspose"},
        ConvolutionCase{"one_tap", 2, 7, 9, 6, 6, {1, 1}},
        ConvolutionCase{"one_tap_of_large_planes", 2, 7, 9, 25, 25, {1, 1}},
        ConvolutionCase{"depthwise", 2, 8, 8, 12, 13, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 8},
        ConvolutionCase{"depthwise_strides", 2, 8, 8, 21, 18, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 8},
        ConvolutionCase{"depthwise_strides_of_3", 2, 4, 8, 10, 20, {3, 3}, {1, 1, 1, 1}, {3, 3}, {1, 1}, 4}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace mangrove
