// Parameters whose gradient would silently be zero.
#include "mangrove/engine/gradient_flow.h"

#include <gtest/gtest.h>

#include "tests/engine/gradient_check.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/program.h"

namespace mangrove {
namespace {

constexpr std::int64_t kInt32 = 6, kFloat = 1;  // TensorProto::DataType

GraphSketch two_layers() {
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 4}).parameter("w", {4, 4}).parameter("b", {4}).parameter("v", {4, 2});
  sketch.node("MatMul", {"x", "w"}, "product").node("Add", {"product", "b"}, "sum");
  return sketch;
}

Result<std::shared_ptr<const Program>> compile_flow(const Graph& graph, Mode mode) {
  return Program::compile(graph, {.mode = mode, .batch = 2});
}

TEST(GradientFlow, ANodeWithoutGradientNamesTheParametersThatItCutsOff) {
  const Graph rounded = two_layers().node("Floor", {"sum"}, "whole").node("MatMul", {"whole", "v"}, "y").create({"y"});
  const auto program = compile_flow(rounded, Mode::training);
  ASSERT_EQ(program.code(), Code::invalid_argument);
  EXPECT_EQ(program.error().message,
            "node 'whole' (Floor), output 'whole': no gradient passes it, so that the parameters before it cannot be "
            "trained: 'b', 'w'");
  EXPECT_TRUE(compile_flow(rounded, Mode::inference).ok());
}

TEST(GradientFlow, ThroughIntegersThereIsNone) {
  const Graph graph = two_layers()
                          .node("Cast", {"sum"}, "integers", {{"to", kInt32}})
                          .node("Cast", {"integers"}, "reals", {{"to", kFloat}})
                          .node("MatMul", {"reals", "v"}, "y")
                          .create({"y"});
  const auto program = compile_flow(graph, Mode::training);
  ASSERT_EQ(program.code(), Code::invalid_argument);
  EXPECT_NE(program.error().message.find("node 'integers' (Cast)"), std::string::npos) << program.error().message;
}

TEST(GradientFlow, AnIntegerOutputAloneTrainsNothing) {
  const Graph graph = two_layers().node("ArgMax", {"sum"}, "class", {{"axis", std::int64_t{1}}}).create({"class"});
  const auto program = compile_flow(graph, Mode::training);
  ASSERT_EQ(program.code(), Code::invalid_argument);
  EXPECT_NE(program.error().message.find("node 'class' (ArgMax)"), std::string::npos) << program.error().message;
}

TEST(GradientFlow, BesideAnotherWayToAnOutputItIsFine) {
  const Graph masked = two_layers()
                           .constant("zero", Tensor::of<float>({1}, {0}))
                           .constant("slope", Tensor::of<float>({1}, {0.1f}))
                           .node("Greater", {"sum", "zero"}, "positive")
                           .node("Mul", {"sum", "slope"}, "small")
                           .node("Where", {"positive", "sum", "small"}, "leaky")
                           .node("MatMul", {"leaky", "v"}, "y")
                           .node("ArgMax", {"y"}, "class", {{"axis", std::int64_t{1}}})
                           .create({"y", "class"});
  EXPECT_TRUE(check_trainable(masked).ok());
  EXPECT_TRUE(compile_flow(masked, Mode::training).ok());
}

TEST(GradientFlow, WithoutParametersBeforeItItIsFine) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 4})
                          .parameter("v", {4, 2})
                          .parameter("unused", {2})
                          .node("Floor", {"x"}, "whole")
                          .node("MatMul", {"whole", "v"}, "y")
                          .node("Add", {"y", "unused"}, "nowhere")
                          .create({"y"});
  EXPECT_TRUE(compile_flow(graph, Mode::training).ok());
}

}  // namespace
}  // namespace mangrove
