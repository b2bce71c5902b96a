// ConvInteger, MatMulInteger and DynamicQuantizeLinear give on every backend, to the last bit, what the portable
// kernels give, as files have them and after the rewriting passes; and what is fused into them gives what it gives
// alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#ifdef MANGROVE_WITH_ONEDNN
#include "mangrove/engine/onednn/byte_support.h"
#endif

namespace mangrove {
namespace {

using Attributes = std::map<std::string, Attribute>;
using Sizes = std::vector<std::int64_t>;

/// All values, or only the lowest and the highest: products of those are the largest that there are.
enum class Draw { all, extremes, highest };

Tensor bytes(DType dtype, const Shape& shape, Draw draw, std::uint64_t seed) {
  const double low = dtype == DType::u8 ? 0 : -128, high = dtype == DType::u8 ? 255 : 127;
  if (draw == Draw::highest) return uniform_tensor(dtype, shape, seed, high, high);
  Tensor tensor = uniform_tensor(dtype, shape, seed, low, high);
  if (draw == Draw::all) return tensor;
  const auto spread = [&](auto values) {
    for (auto& value : values)
      value = static_cast<std::remove_reference_t<decltype(value)>>(value > (low + high) / 2 ? high : low);
  };
  dtype == DType::u8 ? spread(tensor.as<std::uint8_t>()) : spread(tensor.as<std::int8_t>());
  return tensor;
}

Tensor zero_point_of(DType dtype, int value, const Shape& shape = {}) {
  return uniform_tensor(dtype, shape, 1, value, value);
}

struct IntegerCase {
  std::string name;
  std::string op;
  Shape x, w;
  DType x_type = DType::u8, w_type = DType::i8;
  std::optional<Tensor> x_zero = {}, w_zero = {};
  Attributes attributes = {};
  bool computed_weights = false;  // they are an input of the graph
};

Graph graph_of(const IntegerCase& c, Draw draw) {
  GraphSketch sketch(DType::f32);
  sketch.input("x", c.x, c.x_type);
  if (c.computed_weights) sketch.input("w", c.w, c.w_type);
  if (!c.computed_weights) sketch.constant("w", bytes(c.w_type, c.w, draw, 3));
  std::vector<std::string> inputs{"x", "w", "", ""};
  if (c.x_zero) sketch.constant(inputs[2] = "x.zero", *c.x_zero);
  if (c.w_zero) sketch.constant(inputs[3] = "w.zero", *c.w_zero);
  while (inputs.back().empty()) inputs.pop_back();
  return sketch.node(c.op, inputs, "y", c.attributes).create({"y"});
}

struct Setting {
  std::string backend;
  bool optimized = false;
  int threads = 1;
  std::int64_t batch = 2;
};

std::unique_ptr<Execution> run_drawn(const Graph& graph, const Setting& setting, Draw draw) {
  Graph rewritten = graph;
  if (setting.optimized) {
    auto optimized = optimize(graph, {});
    EXPECT_TRUE(optimized.ok()) << optimized.error().message;
    rewritten = std::move(optimized).value().graph;
  }
  auto program =
      Program::compile(rewritten, {.batch = setting.batch, .backend = setting.backend, .threads = setting.threads});
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = std::move(Execution::create(*program)).value();
  std::uint64_t seed = 11;
  for (const auto& [name, info] : graph.inputs()) {
    const Shape shape = info.shape.with_batch(setting.batch);
    const Tensor value = info.dtype == DType::f32 ? uniform_tensor(DType::f32, shape, seed, -2, 3)
                                                  : bytes(info.dtype, shape, draw, seed);
    EXPECT_TRUE(execution->set_input(name, value).ok());
    ++seed;
  }
  execution->forward();
  return execution;
}

void expect_same_bits(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  ASSERT_GT(found.bytes(), 0);
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())), 0);
}

Attributes windows(Sizes pads, Sizes strides, std::int64_t group = 1, Sizes dilations = {1, 1}) {
  return {{"pads", std::move(pads)},
          {"strides", std::move(strides)},
          {"group", group},
          {"dilations", std::move(dilations)}};
}

const Attributes kIntegerSame = windows({1, 1, 1, 1}, {1, 1});

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

/// Whether a backend computes a Relu behind a product with it. Else oneDNN's own kernel does, which gives 0 for NaN on
/// processors without AVX-512.
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
