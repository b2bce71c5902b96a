// What is fused into ConvInteger and MatMulInteger gives what it gives alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/integer_cases.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#ifdef MANGROVE_WITH_ONEDNN
#include "mangrove/engine/onednn/byte_support.h"
#endif

namespace mangrove {
namespace {

/// x -> bytes -> integer product "sums" -> Cast -> Mul by both scales, which is made behind the sums, -> + bias.
GraphSketch dynamic_product_of(GraphSketch sketch, const IntegerCase& c, const Shape& scales, const Shape& bias) {
  sketch.node_of_several("DynamicQuantizeLinear", {"x"}, {"x.bytes", "x.scale", "x.zero"});
  sketch.constant("w", bytes(c.w_type, c.w, Draw::all, 3)).constant("w.zero", *c.w_zero);
  sketch.node(c.op, {"x.bytes", "w", "x.zero", "w.zero"}, "sums", c.attributes);
  sketch.node("Cast", {"sums"}, "floats", {{"to", std::int64_t{1}}});
  sketch.constant("w.scale", uniform_tensor(DType::f32, scales, 4, 0.002, 0.004));
  sketch.node("Mul", {"x.scale", "w.scale"}, "scale").node("Mul", {"floats", "scale"}, "scaled");
  sketch.constant("bias", uniform_tensor(DType::f32, bias, 5, -1, 1));
  return sketch.node("Add", {"bias", "scaled"}, "biased");
}

GraphSketch dynamic_product(const IntegerCase& c, const Shape& scales, const Shape& bias) {
  return dynamic_product_of(GraphSketch(DType::f32).input("x", c.x), c, scales, bias);
}

struct FusedCase {
  std::string name;
  Graph graph;
  std::vector<std::string> fused;  // nodes that leave no step
};

std::vector<FusedCase> fused_cases() {
  const std::vector<std::string> to_bias{"floats", "scaled", "biased"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), to_bias.begin(), to_bias.end());
    return more;
  };
  const IntegerCase conv{.name = "",
                         .op = "ConvInteger",
                         .x = {kBatch, 16, 7, 6},
                         .w = {16, 16, 3, 3},
                         .w_type = DType::u8,
                         .w_zero = zero_point_of(DType::u8, 125),
                         .attributes = kIntegerSame};
  const IntegerCase matmul{
      .name = "", .op = "MatMulInteger", .x = {kBatch, 5, 40}, .w = {40, 24}, .w_zero = zero_point_of(DType::i8, 0)};
  IntegerCase square = matmul, large = conv;
  square.w = {40, 40};
  large.x = {kBatch, 16, 25, 24};
  const auto clipped = [](GraphSketch sketch) {
    sketch.constant("low", Tensor::of<float>({}, {-0.5f})).constant("high", Tensor::of<float>({}, {1}));
    return sketch.node("Clip", {"biased", "low", "high"}, "y").create({"y"});
  };
  return {
      {"conv", dynamic_product(conv, {}, {1, 16, 1, 1}).create({"biased"}), to_bias},
      {"conv_relu", dynamic_product(conv, {1}, {16, 1, 1}).node("Relu", {"biased"}, "y").create({"y"}), with({"y"})},
      {"conv_clip", clipped(dynamic_product(conv, {}, {1, 16, 1, 1})), with({"y"})},
      {"conv_residual_relu",
       dynamic_product(conv, {16, 1, 1}, {1, 16, 1, 1})
           .node("Add", {"x", "biased"}, "sum")
           .node("Relu", {"sum"}, "y")
           .create({"y"}),
       with({"sum", "y"})},
      {"large_conv_relu", dynamic_product(large, {}, {1, 16, 1, 1}).node("Relu", {"biased"}, "y").create({"y"}),
       with({"y"})},
      {"conv_then_pool_and_conv",
       dynamic_product(conv, {}, {1, 16, 1, 1})
           .node("Relu", {"biased"}, "r")
           .node("MaxPool", {"r"}, "p", {{"kernel_shape", Sizes{2, 2}}})
           .node_of_several("DynamicQuantizeLinear", {"p"}, {"p.bytes", "p.scale", "p.zero"})
           .node("ConvInteger", {"p.bytes", "w", "p.zero", "w.zero"}, "y")
           .create({"y", "p.scale"}),
       with({"r"})},
      {"matmul", dynamic_product(matmul, {}, {24}).create({"biased"}), to_bias},
      {"matmul_scales_by_column", dynamic_product(matmul, {24}, {1, 1, 24}).create({"biased"}), to_bias},
      {"matmul_residual", dynamic_product(square, {}, {40}).node("Add", {"biased", "x"}, "y").create({"y"}),
       with({"y"})},
      {"a_sum_that_others_read_stays",
       dynamic_product(matmul, {}, {24}).node("Neg", {"floats"}, "y").create({"y", "biased"}),
       {"floats"}},
      {"a_scale_for_each_row_is_not_fused", dynamic_product(matmul, {5, 1}, {24}).create({"biased"}), {"floats"}},
  };
}

void expect_near(const Tensor& found, const Tensor& expected) {
  if (expected.dtype() != DType::f32) return expect_same_bits(found, expected);
  ASSERT_EQ(found.shape(), expected.shape());
  float largest = 0;
  for (const float value : expected.as<float>()) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < expected.as<float>().size(); ++i) {
    ASSERT_NEAR(found.as<float>()[i], expected.as<float>()[i], 1e-6f * largest) << "element " << i;
  }
}

TEST(FusedIntegerProducts, GiveWhatTheirNodesGive) {
  for (const FusedCase& c : fused_cases()) {
    const auto expected = run_drawn(c.graph, {"portable"}, Draw::all);
    for (const std::string& backend : fast_backends()) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(c.name + " on " + backend);
        const auto found = run_drawn(c.graph, {backend, true, threads}, Draw::all);
        for (const std::string& name : c.graph.outputs()) {
          expect_near(found->output_tensor(name), expected->output_tensor(name));
        }
      }
    }
  }
}

/// A product of x and numbers among which one is infinite: so is the scale of their bytes, and 0 times it is NaN.
GraphSketch product_of_the_infinite() {
  Tensor shift = uniform_tensor(DType::f32, {7, 40}, 1, 0, 0);
  shift.as<float>()[50] = std::numeric_limits<float>::infinity();
  GraphSketch sketch(DType::f32);
  sketch.input("given", {kBatch, 7, 40}).constant("shift", std::move(shift)).node("Add", {"given", "shift"}, "x");
  const IntegerCase matmul{
      .name = "", .op = "MatMulInteger", .x = {kBatch, 7, 40}, .w = {40, 21}, .w_zero = zero_point_of(DType::i8, 0)};
  return dynamic_product_of(std::move(sketch), matmul, {}, {21});
}

/// Whether a backend computes a Relu behind a product with it. Else oneDNN's own kernel does, which gave 0 for NaN on a
/// processor with AVX2 only.
bool fuses_relu(const std::string& backend) {
#ifdef MANGROVE_WITH_ONEDNN
  return backend != "onednn" || computes_byte_products();
#else
  return backend != "onednn";
#endif
}

TEST(FusedIntegerProducts, KeepWhatIsNoNumber) {
  const Graph graphs[] = {product_of_the_infinite().create({"biased"}),
                          product_of_the_infinite().node("Relu", {"biased"}, "y").create({"y"})};
  for (const Graph& graph : graphs) {
    const std::string& name = graph.outputs()[0];
    const auto expected = run_drawn(graph, {"portable"}, Draw::all);
    ASSERT_TRUE(std::isnan(expected->output_tensor(name).as<float>()[0]));
    for (const std::string& backend : fast_backends()) {
      if (name == "y" && !fuses_relu(backend)) continue;
      SCOPED_TRACE(::testing::Message() << name << " on " << backend);
      const auto found = run_drawn(graph, {backend, true}, Draw::all);
      for (std::size_t i = 0; i < expected->output_tensor(name).as<float>().size(); ++i) {
        ASSERT_EQ(std::isnan(found->output_tensor(name).as<float>()[i]),
                  std::isnan(expected->output_tensor(name).as<float>()[i]))
            << "element " << i;
      }
    }
  }
}

#ifdef MANGROVE_WITH_ONEDNN
bool leaves_a_step(const Program& program, const std::string& node) {
  return std::ranges::any_of(program.forward_steps(), [&](const auto& placed) { return placed.step.node == node; });
}

TEST(FusedIntegerProducts, LeaveNoStepsOnBytes) {
  for (const FusedCase& c : fused_cases()) {
    SCOPED_TRACE(c.name);
    const auto execution = run_drawn(c.graph, {"onednn", true}, Draw::all);
    const Program& program = execution->program();
    for (const std::string& node : c.fused) {
      EXPECT_EQ(leaves_a_step(program, node), !computes_byte_products()) << node << "\n" << program.describe();
    }
    for (const char* op :
         {"(DynamicQuantizeLinear) is portable", "(ConvInteger) is portable", "(MatMulInteger) is portable"}) {
      EXPECT_EQ(program.describe().find(op), std::string::npos) << program.describe();
    }
  }
}

// What zero points change about a sum of so many products does not fit into 32 bits.
TEST(FusedIntegerProducts, StayApartWhereSumsMayWrapAround) {
  constexpr std::int64_t kDepth = (1 << 23) + 1;
  for (const std::int64_t depth : {kDepth - 1, kDepth}) {
    const IntegerCase c{.name = "",
                        .op = "MatMulInteger",
                        .x = {kBatch, depth},
                        .w = {depth, 1},
                        .w_zero = zero_point_of(DType::i8, 1)};
    const auto rewritten = optimize(dynamic_product(c, {}, {1}).create({"biased"}), {});
    ASSERT_TRUE(rewritten.ok()) << rewritten.error().message;
    const auto program = Program::compile(rewritten->graph, {.batch = 1, .backend = "onednn"});
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(leaves_a_step(**program, "floats"), depth == kDepth || !computes_byte_products());
  }
}
#endif

}  // namespace
}  // namespace mangrove
