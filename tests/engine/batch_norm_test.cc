// Batch normalization of the fast backends against the portable kernels: alone, with a residual and an activation fused
// into it, in blocked and channels-last layouts, with full and padded blocks, on one and on several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

const std::map<std::string, Attribute> kBatchNormSame{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};

enum class Behind { nothing, relu, clip, residual, residual_relu, residual_clip };

struct BatchNormCase {
  const char* name;
  std::int64_t batch, channels, height, width;
  Behind behind;
};

Graph batch_norm_graph(const BatchNormCase& c) {
  GraphSketch sketch(DType::f32);
  const std::int64_t channels = c.channels;
  sketch.input("x", {kBatch, 3, c.height, c.width})
      .parameter("w", {channels, 3, 3, 3})
      .parameter("v", {channels, channels, 3, 3}, -0.3, 0.3)
      .parameter("scale", {channels}, 0.5, 1.5)
      .parameter("bias", {channels})
      .constant("mean", uniform_tensor(DType::f32, {channels}, 1))
      .constant("variance", uniform_tensor(DType::f32, {channels}, 2, 0.5, 1.5))
      .constant("low", Tensor(DType::f32, Shape{}))
      .constant("high", uniform_tensor(DType::f32, Shape{}, 3, 0.6, 0.7))
      .node("Conv", {"x", "w"}, "a", kBatchNormSame)
      .node("Conv", {"a", "v"}, "b", kBatchNormSame)
      .node("BatchNormalization", {"b", "scale", "bias", "mean", "variance"}, "n");
  const bool residual =
      c.behind == Behind::residual || c.behind == Behind::residual_relu || c.behind == Behind::residual_clip;
  if (residual) sketch.node("Add", {"n", "a"}, "r");
  const std::string result = residual ? "r" : "n";
  if (c.behind == Behind::relu || c.behind == Behind::residual_relu) sketch.node("Relu", {result}, "f");
  if (c.behind == Behind::clip || c.behind == Behind::residual_clip) sketch.node("Clip", {result, "low", "high"}, "f");
  const bool activation = c.behind != Behind::nothing && c.behind != Behind::residual;
  return sketch.node("Conv", {activation ? "f" : result, "v"}, "y", kBatchNormSame).create({"y"});
}

class FastBatchNorm : public ::testing::TestWithParam<std::tuple<std::string, BatchNormCase>> {
 protected:
  const std::string& backend() const { return std::get<0>(GetParam()); }
  const BatchNormCase& of() const { return std::get<1>(GetParam()); }
};

TEST_P(FastBatchNorm, StepEqualsPortable) {
  const Graph graph = batch_norm_graph(of());
  const auto reference = make_execution(graph, "portable", of().batch);
  ASSERT_NE(reference, nullptr);
  const StepOutcome expected = run_step(*reference, 5);
  for (const int threads : {1, 3}) {
    for (const bool fuse : {true, false}) {
      SCOPED_TRACE(std::to_string(threads) + " threads" + (fuse ? ", fused" : ""));
      const auto execution = make_execution(graph, backend(), of().batch, fuse, threads);
      ASSERT_NE(execution, nullptr);
      expect_close(run_step(*execution, 5), expected, 1e-4);
      EXPECT_EQ(execution->program().describe().find("(BatchNormalization) is portable"), std::string::npos);
      for (const char* state : {"mean", "variance"}) {
        const Tensor found = execution->parameter(state), wanted = reference->parameter(state);
        for (std::int64_t c = 0; c < of().channels; ++c) {
          const auto i = static_cast<std::size_t>(c);
          EXPECT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 1e-5) << state << " " << c;
        }
      }
    }
  }
}

TEST_P(FastBatchNorm, InferenceEqualsPortable) {
  const Graph graph = batch_norm_graph(of());
  std::vector<std::unique_ptr<Execution>> executions;
  for (const std::string& name : {std::string("portable"), backend()}) {
    const auto program = Program::compile(graph, {.batch = of().batch, .backend = name});
    ASSERT_TRUE(program.ok()) << program.error().message;
    executions.push_back(std::move(Execution::create(*program)).value());
    const Tensor x = uniform_tensor(DType::f32, {of().batch, 3, of().height, of().width}, 8);
    ASSERT_TRUE(executions.back()->set_input("x", x).ok());
    executions.back()->forward();
  }
  const auto expected = executions[0]->output<float>("y"), found = executions[1]->output<float>("y");
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4) << i;
}

// The statistics must not drown where the values are far from zero.
TEST(FastBatchNorm, ValuesFarFromZeroKeepTheirVariance) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 16})
                          .parameter("scale", {16}, 0.5, 1.5)
                          .parameter("bias", {16})
                          .constant("mean", Tensor(DType::f32, {16}))
                          .constant("variance", Tensor(DType::f32, {16}))
                          .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y")
                          .create({"y"});
  const Tensor x = uniform_tensor(DType::f32, {64, 16}, 1, 999.5, 1000.5);
  const auto computed = [&](const std::string& backend) {
    const auto execution = make_execution(graph, backend, 64);
    EXPECT_TRUE(execution && execution->set_input("x", x).ok());
    execution->forward();
    const auto y = execution->output<float>("y");
    return std::vector<float>(y.begin(), y.end());
  };
  const std::vector<float> expected = computed("portable");
  for (const std::string& backend : fast_backends()) {
    const std::vector<float> found = computed(backend);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-3) << backend << " " << i;
  }
}

// A residual that is the input itself: its gradient has two parts.
TEST(FastBatchNorm, OwnInputIsTheResidual) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 4, 5, 5})
                          .parameter("scale", {4}, 0.5, 1.5)
                          .parameter("bias", {4})
                          .constant("mean", Tensor(DType::f32, {4}))
                          .constant("variance", Tensor(DType::f32, {4}))
                          .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "n")
                          .node("Add", {"n", "x"}, "a")
                          .node("Relu", {"a"}, "y")
                          .create({"y"});
  const StepOutcome expected = run_step(*make_execution(graph, "portable", 3), 5);
  for (const std::string& backend : fast_backends()) {
    SCOPED_TRACE(backend);
    expect_close(run_step(*make_execution(graph, backend, 3), 5), expected, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, FastBatchNorm,
    ::testing::Combine(::testing::ValuesIn(fast_backends()),
                       ::testing::Values(BatchNormCase{"full_blocks", 3, 32, 6, 5, Behind::nothing},
                                         BatchNormCase{"relu", 3, 16, 6, 5, Behind::relu},
                                         BatchNormCase{"clip", 2, 32, 7, 7, Behind::clip},
                                         BatchNormCase{"residual", 2, 16, 5, 5, Behind::residual},
                                         BatchNormCase{"residual_relu", 3, 16, 20, 20, Behind::residual_relu},
                                         BatchNormCase{"residual_clip", 3, 32, 4, 4, Behind::residual_clip},
                                         BatchNormCase{"padded_block", 3, 30, 5, 5, Behind::residual_relu},
                                         BatchNormCase{"channels_last", 3, 20, 5, 5, Behind::residual_relu},
                                         BatchNormCase{"channels_last_relu", 2, 50, 6, 6, Behind::relu},
                                         BatchNormCase{"one_channel", 2, 1, 6, 6, Behind::relu},
                                         BatchNormCase{"one_image", 1, 16, 6, 6, Behind::relu})),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).name; });

}  // namespace
}  // namespace mangrove
