// Products of dequantized values are computed on bytes by oneDNN: the results are those of the portable kernels, which
// compute in float what the graph says, up to one step of a quantized result (its last bit may round the other way).
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/onednn/byte_support.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

struct Scale {
  float scale;
  DType dtype;
  int zero_point = 0;
};

/// Builds a graph of quantized values step by step.
class Sketch {
 public:
  /// The graph's input "x", quantized and dequantized as "x.floats".
  Sketch(const Shape& shape, Scale scale) {
    graph_.input("x", shape);
    quantized("x", "x.bytes", scale);
    dequantized("x.bytes", "x.floats", scale);
  }

  Sketch& quantized(const std::string& value, const std::string& result, Scale by) {
    return node("QuantizeLinear", {value, number(by.scale), zero(by)}, result);
  }
  Sketch& dequantized(const std::string& value, const std::string& result, Scale by) {
    return node("DequantizeLinear", {value, number(by.scale), zero(by)}, result);
  }

  /// i8 weights "w" -> "w.floats" with a scale for each index of the axis, and without one: one for all.
  Sketch& weights(const Shape& shape, std::optional<std::size_t> axis, std::optional<Tensor> zero_points = {}) {
    const DType dtype = zero_points ? zero_points->dtype() : DType::i8;
    graph_.constant("w",
                    uniform_tensor(dtype, shape, 3, dtype == DType::i8 ? -127 : 0, dtype == DType::i8 ? 127 : 255));
    scales_ = axis ? uniform_tensor(DType::f32, {shape[*axis]}, 4, 0.002, 0.004) : Tensor::of<float>({1}, {0.003f});
    graph_.constant("w.scales", scales_);
    std::vector<std::string> inputs{"w", "w.scales"};
    if (zero_points) {
      graph_.constant("w.zeros", *std::move(zero_points));
      inputs.push_back("w.zeros");
    }
    return node("DequantizeLinear", inputs, "w.floats", {{"axis", static_cast<std::int64_t>(axis.value_or(0))}});
  }

  /// i32 "b" -> "b.floats" in the unit of products of `of` and the weights.
  Sketch& bias(std::int64_t channels, Scale of, float wrong = 1) {
    graph_.constant("b", uniform_tensor(DType::i32, {channels}, 5, -3000, 3000));
    Tensor units(DType::f32, scales_.shape());
    std::ranges::transform(scales_.as<float>(), units.as<float>().begin(),
                           [=](float scale) { return of.scale * scale * wrong; });
    graph_.constant("b.scales", units);
    return node("DequantizeLinear", {"b", "b.scales"}, "b.floats", {{"axis", std::int64_t{0}}});
  }

  Sketch& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& result,
               const Attributes& attributes = {}) {
    graph_.node(op, inputs, result, attributes);
    return *this;
  }
  Sketch& parameter(const std::string& name, const Shape& shape) {
    graph_.parameter(name, shape);
    return *this;
  }
  std::string number(float value) { return constant(Tensor::of<float>({}, {value})); }
  std::string zero(Scale of) {
    if (of.dtype == DType::u8)
      return constant(Tensor::of<std::uint8_t>({}, {static_cast<std::uint8_t>(of.zero_point)}));
    return constant(Tensor::of<std::int8_t>({}, {static_cast<std::int8_t>(of.zero_point)}));
  }
  Graph create(const std::vector<std::string>& outputs) { return graph_.create(outputs); }

 private:
  std::string constant(Tensor value) {
    const std::string name = "constant" + std::to_string(constants_++);
    graph_.constant(name, std::move(value));
    return name;
  }

  GraphSketch graph_{DType::f32};
  Tensor scales_;
  int constants_ = 0;
};

const Scale kUnsigned{0.012f, DType::u8}, kSigned{0.02f, DType::i8}, kShifted{0.015f, DType::u8, 117};

struct ByteProductsCase {
  std::string name;
  Graph graph;
  bool on_bytes = true;             // the product reads "x.bytes"
  std::vector<std::string> others;  // nodes that are fused into it
  bool floats = false;              // another node reads "x.floats"
};

Attributes conv_attributes(Ints pads, Ints strides, std::int64_t group = 1, Ints dilations = {1, 1}) {
  return {{"pads", std::move(pads)},
          {"strides", std::move(strides)},
          {"group", group},
          {"dilations", std::move(dilations)}};
}

const Attributes kByteProductsSame = conv_attributes({1, 1, 1, 1}, {1, 1});

/// A convolution "conv" of 3x3 pixels, `in` to `out` channels, with its bias.
Sketch convolution(Scale input, std::int64_t in, std::int64_t out, std::int64_t group, const Attributes& attributes) {
  Sketch sketch({kBatch, in, 9, 8}, input);
  sketch.weights({out, in / group, 3, 3}, 0).bias(out, input);
  return sketch.node("Conv", {"x.floats", "w.floats", "b.floats"}, "conv", attributes);
}

ByteProductsCase shape_case(const std::string& name, Scale input, std::int64_t in, std::int64_t out, std::int64_t group,
                            const Attributes& attributes) {
  return {
      name, convolution(input, in, out, group, attributes).quantized("conv", "y", kSigned).create({"y"}), true, {"y"}};
}

ByteProductsCase activation_case(const std::string& name, Scale output, const std::string& op,
                                 const Attributes& attributes = {}) {
  return {name,
          convolution(kUnsigned, 16, 16, 1, kByteProductsSame)
              .node(op, {"conv"}, "a", attributes)
              .quantized("a", "y", output)
              .create({"y"}),
          true,
          {"a", "y"}};
}

ByteProductsCase clip_case(const std::string& name, float low, float high, Scale output) {
  Sketch sketch = convolution(kUnsigned, 16, 16, 1, kByteProductsSame);
  sketch.node("Clip", {"conv", sketch.number(low), sketch.number(high)}, "a").quantized("a", "y", output);
  return {name, sketch.create({"y"}), true, {"a", "y"}};
}

/// conv + the values `residual`, which may be dequantized from an input of their own, then Relu.
ByteProductsCase residual_case(const std::string& name, Scale residual, std::optional<Scale> output) {
  Sketch sketch({kBatch, 16, 9, 8}, kUnsigned);
  sketch.quantized("x", "r.bytes", residual).dequantized("r.bytes", "r", residual);
  sketch.weights({16, 16, 3, 3}, 0).bias(16, kUnsigned);
  sketch.node("Conv", {"x.floats", "w.floats", "b.floats"}, "conv", kByteProductsSame);
  sketch.node("Add", {"r", "conv"}, "sum").node("Relu", {"sum"}, output ? "a" : "y");
  if (output) sketch.quantized("a", "y", *output);
  return {name, sketch.create({"y"}), true,
          output ? std::vector<std::string>{"sum", "a", "y"} : std::vector<std::string>{"sum", "y"}};
}

std::vector<ByteProductsCase> convolutions() {
  std::vector<ByteProductsCase> cases{
      shape_case("pointwise_blocks", kUnsigned, 32, 48, 1, conv_attributes({1, 1, 1, 1}, {1, 1})),
      shape_case("signed", kSigned, 16, 32, 1, kByteProductsSame),
      shape_case("shifted", kShifted, 16, 32, 1, kByteProductsSame),
      shape_case("shifted_signed", {0.02f, DType::i8, -9}, 16, 32, 1, conv_attributes({2, 0, 1, 1}, {2, 1})),
      shape_case("odd_channels", kUnsigned, 3, 21, 1, conv_attributes({1, 0, 2, 1}, {2, 1})),
      shape_case("dilated", kSigned, 8, 5, 1, conv_attributes({2, 2, 2, 2}, {1, 1}, 1, {2, 2})),
      shape_case("grouped", kUnsigned, 32, 64, 2, conv_attributes({1, 1, 1, 1}, {1, 1}, 2)),
      shape_case("depthwise", kUnsigned, 32, 32, 32, conv_attributes({1, 1, 1, 1}, {1, 1}, 32)),
      shape_case("depthwise_signed_strided", kSigned, 48, 48, 48, conv_attributes({1, 1, 1, 1}, {2, 2}, 48)),
      shape_case("depthwise_shifted", kShifted, 16, 16, 16, conv_attributes({1, 1, 1, 1}, {1, 1}, 16)),
      activation_case("relu", {0.1f, DType::u8}, "Relu"),
      activation_case("relu_signed_result", {0.1f, DType::i8}, "Relu"),
      activation_case("relu_shifted_result", {0.1f, DType::u8, 60}, "Relu"),
      activation_case("leaky_relu", kSigned, "LeakyRelu", {{"alpha", 0.3f}}),
      activation_case("sigmoid", {1.0f / 255, DType::u8}, "Sigmoid"),
      activation_case("tanh", {1.0f / 127, DType::i8}, "Tanh"),
      clip_case("relu6", 0, 6, {6.0f / 255, DType::u8}),
      clip_case("relu6_with_room", 0, 6, {0.05f, DType::u8}),
      clip_case("clip", -2, 3, {0.05f, DType::i8, 7}),
      residual_case("residual", kUnsigned, Scale{0.06f, DType::u8}),
      residual_case("residual_signed_shifted", {0.03f, DType::i8, 20}, Scale{0.06f, DType::u8}),
      residual_case("residual_to_float", kSigned, std::nullopt),
  };
  Sketch twice = convolution(kUnsigned, 16, 16, 1, kByteProductsSame);  // the first one has nobody to add to yet
  twice.node("Conv", {"x.floats", "w.floats"}, "other", kByteProductsSame).node("Add", {"conv", "other"}, "sum");
  cases.push_back(
      {"residual_of_floats", twice.quantized("sum", "y", {0.1f, DType::i8}).create({"y"}), true, {"sum", "y"}});
  cases.push_back(residual_case("residual_shifted_to_float", kShifted, std::nullopt));
  cases.push_back({"to_float", convolution(kUnsigned, 16, 16, 1, kByteProductsSame).create({"conv"}), true, {}});
  cases.push_back({"result_also_read_as_float",
                   convolution(kUnsigned, 16, 16, 1, kByteProductsSame)
                       .node("Relu", {"conv"}, "a")
                       .quantized("a", "y", kUnsigned)
                       .node("Sigmoid", {"a"}, "s")
                       .create({"y", "s"}),
                   true,
                   {"a"}});
  return cases;
}

std::vector<ByteProductsCase> special_cases() {
  std::vector<ByteProductsCase> cases;
  Sketch line({kBatch, 8, 20}, kSigned);
  line.weights({16, 8, 5}, 0).node("Conv", {"x.floats", "w.floats"}, "conv", {{"pads", Ints{2, 2}}});
  cases.push_back({"one_dimension", line.quantized("conv", "y", kSigned).create({"y"}), true, {"y"}});
  Sketch one_scale({kBatch, 8, 5, 5}, kUnsigned);
  one_scale.weights({16, 8, 3, 3}, std::nullopt).bias(16, kUnsigned);
  one_scale.node("Conv", {"x.floats", "w.floats", "b.floats"}, "conv").quantized("conv", "y", kSigned);
  cases.push_back({"one_scale", one_scale.create({"y"}), true, {"y"}});
  Sketch float_bias({kBatch, 16, 5, 5}, kUnsigned);
  float_bias.weights({16, 16, 3, 3}, 0).parameter("f", {16});
  float_bias.node("Conv", {"x.floats", "w.floats", "f"}, "conv", kByteProductsSame);
  cases.push_back({"float_bias", Sketch(float_bias).quantized("conv", "y", kSigned).create({"y"}), true, {"y"}});
  float_bias.node("Add", {"conv", "x.floats"}, "sum").quantized("sum", "y", kSigned);
  cases.push_back({"float_bias_and_residual", float_bias.create({"y"}), true, {}, /*floats=*/true});
  Sketch other_bias({kBatch, 16, 5, 5}, kUnsigned);
  other_bias.weights({16, 16, 3, 3}, 0).bias(16, kUnsigned, /*wrong=*/1.5f);
  other_bias.node("Conv", {"x.floats", "w.floats", "b.floats"}, "conv").quantized("conv", "y", kSigned);
  cases.push_back({"bias_in_another_unit", other_bias.create({"y"}), false, {}});
  Sketch shifted_weights({kBatch, 16, 5, 5}, kUnsigned);
  shifted_weights.weights({16, 16, 3, 3}, std::nullopt, Tensor::of<std::uint8_t>({1}, {130}));
  shifted_weights.node("Conv", {"x.floats", "w.floats"}, "conv").quantized("conv", "y", {0.1f, DType::i8});
  cases.push_back({"unsigned_weights", shifted_weights.create({"y"}), false, {}});
  return cases;
}

Sketch product(const std::string& op, Shape x, const Shape& w, std::size_t axis, Scale input, bool bias,
               const Attributes& attributes = {}) {
  Sketch sketch(x, input);
  sketch.weights(w, axis);
  std::vector<std::string> inputs{"x.floats", "w.floats"};
  if (bias) sketch.bias(w[axis], input), inputs.push_back("b.floats");
  return sketch.node(op, inputs, "product", attributes);
}

std::vector<ByteProductsCase> products() {
  const Attributes turned{{"transB", std::int64_t{1}}};
  const auto quantized = [](Sketch sketch) {
    return sketch.quantized("product", "y", {0.1f, DType::i8}).create({"y"});
  };
  return {
      {"gemm", quantized(product("Gemm", {kBatch, 40}, {40, 24}, 1, kUnsigned, true)), true, {"y"}},
      {"gemm_turned", quantized(product("Gemm", {kBatch, 40}, {24, 40}, 0, kSigned, true, turned)), true, {"y"}},
      {"gemm_to_float",
       product("Gemm", {kBatch, 64}, {10, 64}, 0, kUnsigned, true, turned).create({"product"}),
       true,
       {}},
      {"gemm_shifted", quantized(product("Gemm", {kBatch, 40}, {40, 24}, 1, kShifted, false)), true, {"y"}},
      {"gemm_relu",
       product("Gemm", {kBatch, 40}, {40, 24}, 1, kUnsigned, true)
           .node("Relu", {"product"}, "a")
           .quantized("a", "y", {0.1f, DType::u8})
           .create({"y"}),
       true,
       {"a", "y"}},
      {"matmul", quantized(product("MatMul", {kBatch, 40}, {40, 24}, 1, kSigned, false)), true, {"y"}},
      {"matmul_of_many_rows",
       quantized(product("MatMul", {kBatch, 7, 40}, {40, 24}, 1, kUnsigned, false)),
       true,
       {"y"}},
      {"scales_by_the_wrong_axis", quantized(product("Gemm", {kBatch, 40}, {40, 24}, 0, kSigned, false)), false, {}},
  };
}

std::unique_ptr<Execution> run_quantized(const Graph& graph, const std::string& backend, std::int64_t batch) {
  auto program = Program::compile(graph, {.batch = batch, .backend = backend});
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = std::move(Execution::create(*program)).value();
  for (const auto& [name, info] : graph.inputs()) {
    const bool set =
        execution->set_input(name, uniform_tensor(DType::f32, info.shape.with_batch(batch), 8, -3, 3)).ok();
    EXPECT_TRUE(set);
  }
  execution->forward();
  return execution;
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> all;
  const auto append = [&](const auto& values) { all.assign(values.begin(), values.end()); };
  if (tensor.dtype() == DType::f32) append(tensor.as<float>());
  if (tensor.dtype() == DType::u8) append(tensor.as<std::uint8_t>());
  if (tensor.dtype() == DType::i8) append(tensor.as<std::int8_t>());
  return all;
}

void expect_same_steps(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  const auto a = elements(found), b = elements(expected);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  const bool floats = found.dtype() == DType::f32;
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], floats ? 2e-5 * largest : 1) << "element " << i;
    different += a[i] != b[i] ? 1 : 0;
  }
  if (floats) return;
  EXPECT_LE(different, a.size() / 50) << "of " << a.size();  // only where a sum lies between two steps
}

bool has_step(const Program& program, const std::string& node) {
  return std::ranges::any_of(program.forward_steps(), [&](const auto& placed) { return placed.step.node == node; });
}

class ByteProducts : public ::testing::TestWithParam<std::vector<ByteProductsCase> (*)()> {};

TEST_P(ByteProducts, GiveWhatPortableGives) {
  for (const ByteProductsCase& c : GetParam()()) {
    SCOPED_TRACE(c.name);
    for (const std::int64_t batch : {1, 3}) {
      const auto found = run_quantized(c.graph, "onednn", batch), expected = run_quantized(c.graph, "portable", batch);
      for (const std::string& name : c.graph.outputs()) {
        expect_same_steps(found->output_tensor(name), expected->output_tensor(name));
      }
    }
  }
}

TEST_P(ByteProducts, ReadBytesAndTakeTheirEpilogueAlong) {
  for (const ByteProductsCase& c : GetParam()()) {
    SCOPED_TRACE(c.name);
    const auto execution = run_quantized(c.graph, "onednn", 2);
    const Program& program = execution->program();
    const bool on_bytes = c.on_bytes && computes_byte_products();
    EXPECT_EQ(has_step(program, "x.floats"), !on_bytes || c.floats) << program.describe();
    EXPECT_EQ(has_step(program, "w.floats"), !on_bytes) << program.describe();
    if (!computes_byte_products()) continue;  // the epilogue is that of a product in float
    for (const std::string& other : c.others) EXPECT_FALSE(has_step(program, other)) << other << program.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Convolutions, ByteProducts, ::testing::Values(convolutions));
INSTANTIATE_TEST_SUITE_P(SpecialCases, ByteProducts, ::testing::Values(special_cases));
INSTANTIATE_TEST_SUITE_P(Products, ByteProducts, ::testing::Values(products));

/// The weights lie as bytes, once, and are brought into the kernel's layout when they are loaded. A processor that
/// computes in float keeps them as bytes, too, and makes floats of them on the way.
TEST(ByteProductsMemory, HoldsWeightsAsBytes) {
  const Graph graph =
      convolution(kUnsigned, 64, 64, 1, kByteProductsSame).quantized("conv", "y", kSigned).create({"y"});
  const auto execution = run_quantized(graph, "onednn", 1);
  const Bytes weights = 64 * 64 * 3 * 3;
  EXPECT_GE(execution->program().memory().parameters, weights);
  EXPECT_LT(execution->program().memory().parameters, weights + 8 * 64 + 512);
  const std::string trace = execution->program().describe();
  EXPECT_EQ(trace.find("reorder w") == std::string::npos, computes_byte_products()) << trace;
}

TEST(ByteProductsSwitch, WithoutFusionDequantizedValuesAreFloats) {
  const Graph graph =
      convolution(kUnsigned, 16, 16, 1, kByteProductsSame).quantized("conv", "y", kSigned).create({"y"});
  auto program = Program::compile(graph, {.batch = 1, .backend = "onednn", .fuse = false});
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(has_step(**program, "x.floats"));
}

}  // namespace
}  // namespace mangrove
#endif  // MANGROVE_WITH_ONEDNN
