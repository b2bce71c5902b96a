// oneDNN's kernels against the portable ones, over odd shapes: outputs, gradients of parameters and inputs, and the
// zeros that must stay in the padding of blocked formats.
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/engine/backend_comparison.h"

#include "mangrove/engine/onednn/onednn_backend.h"

namespace mangrove {
namespace {

constexpr double kOnednnTolerance = 2e-5;  // both sum up to some thousand f32 products, in different order

using Ints = std::vector<std::int64_t>;

ValueInfo batch_of(const Shape& sample) {
  std::vector<std::int64_t> dims{kBatch};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return {DType::f32, Shape(dims)};
}

Graph one_node_graph(GraphParts parts) {
  parts.name = "test";
  auto graph = Graph::create(std::move(parts));
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  return std::move(graph).value();
}

/// A chain of nodes from "x" on, each the only user of the one before.
class Chain {
 public:
  explicit Chain(const Shape& sample) { parts_.inputs = {{"x", batch_of(sample)}}; }

  Chain& add(const std::string& op, std::map<std::string, Attribute> attributes = {},
             const std::vector<Shape>& parameters = {}) {
    const std::string name = op + std::to_string(parts_.nodes.size());
    Node node{.name = name, .op = op, .attributes = std::move(attributes), .inputs = {last_}, .outputs = {name + "_y"}};
    for (const Shape& shape : parameters) {
      const std::string parameter = name + "_p" + std::to_string(node.inputs.size());
      // so that sums stay near 1: where tanh saturates, rounding decides which of four equal values a pooling takes
      const double fan_in =
          shape.rank() > 1 ? static_cast<double>(shape.elements()) / static_cast<double>(shape[0]) : 9;
      const auto scale = static_cast<float>(1 / std::sqrt(fan_in));
      parts_.initializers.emplace(parameter, random_tensor(shape, parts_.initializers.size() + 7, scale));
      node.inputs.push_back(parameter);
    }
    last_ = node.outputs[0];
    parts_.nodes.push_back(std::move(node));
    return *this;
  }
  Graph graph() {
    parts_.outputs = {last_};
    return one_node_graph(parts_);
  }

 private:
  GraphParts parts_;
  std::string last_ = "x";
};

/// Whether every node has oneDNN kernels and none fell back to portable ones.
void expect_no_fallback(const Execution& execution) {
  const std::string trace = execution.program().describe();
  EXPECT_EQ(trace.find("portable"), std::string::npos) << trace;
}

/// The padding of parameters' gradients is zero: writing the plain copy back gives the same bytes.
void expect_zero_padding(Execution& execution) {
  for (const auto& view : execution.parameters()) {
    const Graph& graph = execution.program().graph();
    std::vector<float> plain(static_cast<std::size_t>(graph.value(view.name).shape.elements()));
    for (std::span<float> laid_out : {view.value, view.gradient}) {
      std::vector<float> again(laid_out.size(), -1);
      execution.to_plain(view.name, laid_out, plain);
      execution.from_plain(view.name, plain, again);
      EXPECT_TRUE(std::equal(again.begin(), again.end(), laid_out.begin())) << view.name;
    }
  }
}

/// Old contents of the arena must not matter: after a step on NaNs, a step computes the same bits as the first one did.
void expect_no_stale_reads(Execution& execution, const StepOutcome& first, std::uint64_t seed) {
  for (const auto& [name, info] : execution.program().graph().inputs())
    std::ranges::fill(execution.input<float>(name), std::numeric_limits<float>::quiet_NaN());
  execution.forward();
  for (const std::string& name : execution.program().graph().outputs())
    std::ranges::fill(execution.output_gradient<float>(name), std::numeric_limits<float>::quiet_NaN());
  execution.backward();
  const StepOutcome second = run_step(execution, seed);
  EXPECT_EQ(first.outputs, second.outputs);
  EXPECT_EQ(first.gradients, second.gradients);
}

void expect_equals_portable(const Graph& graph, std::int64_t batch, double tolerance = kOnednnTolerance) {
  const auto reference = make_execution(graph, "portable", batch);
  ASSERT_NE(reference, nullptr);
  const StepOutcome expected = run_step(*reference, 5);
  for (const bool fuse : {true, false}) {
    SCOPED_TRACE(fuse ? "fused" : "not fused");
    const auto execution = make_execution(graph, "onednn", batch, fuse);
    ASSERT_NE(execution, nullptr);
    const StepOutcome found = run_step(*execution, 5);
    expect_close(found, expected, tolerance);
    expect_zero_padding(*execution);
    expect_no_stale_reads(*execution, found, 5);
  }
}

constexpr auto case_name = [](const auto& test) { return std::string(test.param.name); };

struct ConvCase {
  const char* name;
  std::int64_t batch, channels, height, width, filters, kernel_h, kernel_w;
  Ints strides{1, 1}, pads{0, 0, 0, 0}, dilations{1, 1};
  std::int64_t group = 1;
  bool bias = true;
};

Chain& add_conv(Chain& chain, const ConvCase& c) {
  std::vector<Shape> parameters{{c.filters, c.channels / c.group, c.kernel_h, c.kernel_w}};
  if (c.bias) parameters.push_back({c.filters});
  return chain.add("Conv", {{"strides", c.strides}, {"pads", c.pads}, {"dilations", c.dilations}, {"group", c.group}},
                   parameters);
}

const ConvCase kConvCases[] = {
    {"one_of_each", 1, 1, 1, 1, 1, 1, 1},
    {"lenet_first", 3, 1, 28, 28, 20, 5, 5},
    {"lenet_second", 3, 20, 12, 12, 50, 5, 5},
    {"batch_64", 64, 3, 8, 8, 17, 3, 3},
    {"odd_channels", 3, 17, 9, 7, 50, 3, 3},
    {"pointwise", 3, 50, 5, 5, 17, 1, 1},
    {"pointwise_strided", 2, 20, 7, 7, 50, 1, 1, {2, 2}},
    {"kernel_2x3", 2, 3, 7, 8, 20, 2, 3},
    {"stride_2", 3, 16, 9, 9, 16, 3, 3, {2, 2}, {1, 1, 1, 1}},
    {"stride_3_leaves_a_rest", 2, 17, 11, 10, 3, 2, 2, {3, 3}},
    {"asymmetric_pads", 3, 3, 8, 8, 20, 3, 3, {1, 1}, {0, 1, 2, 0}},
    {"asymmetric_pads_and_strides", 1, 20, 9, 6, 17, 5, 3, {2, 1}, {2, 0, 1, 2}},
    {"dilated", 3, 17, 12, 12, 20, 3, 3, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {"dilated_unevenly", 1, 3, 12, 14, 5, 2, 3, {1, 1}, {0, 0, 0, 0}, {3, 2}},
    {"groups", 3, 20, 8, 8, 50, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}, 5},
    {"groups_of_16", 2, 32, 6, 6, 64, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {"depthwise", 3, 17, 9, 9, 17, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}, 17},
    {"depthwise_strided", 3, 50, 9, 9, 50, 3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}, 50, false},
    {"depthwise_multiplier", 2, 3, 6, 6, 6, 3, 3, {1, 1}, {0, 0, 0, 0}, {1, 1}, 3},
    {"no_bias", 3, 20, 7, 7, 17, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, false},
};

class OnednnConv : public ::testing::TestWithParam<ConvCase> {};

TEST_P(OnednnConv, EqualsPortable) {
  const ConvCase& c = GetParam();
  Chain chain({c.channels, c.height, c.width});
  const Graph graph = add_conv(chain, c).graph();
  expect_equals_portable(graph, c.batch);
  const auto execution = make_execution(graph, "onednn", c.batch);
  ASSERT_NE(execution, nullptr);
  expect_no_fallback(*execution);
}

TEST_P(OnednnConv, WithActivationAndSecondConvolutionEqualsPortable) {
  const ConvCase& c = GetParam();
  for (const char* activation : {"Relu", "Tanh", "Sigmoid"}) {
    SCOPED_TRACE(activation);
    Chain chain({c.channels, c.height, c.width});
    // the second one sums over the padding that the first one's blocked result has
    add_conv(chain, c).add(activation).add("Conv", {}, {{19, c.filters, 1, 1}, {19}});
    expect_equals_portable(chain.graph(), c.batch);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnednnConv, ::testing::ValuesIn(kConvCases), case_name);

struct GemmCase {
  const char* name;
  std::int64_t rows, inner, columns;
  bool transposed_weights, bias;
};

class OnednnGemm : public ::testing::TestWithParam<GemmCase> {};

TEST_P(OnednnGemm, EqualsPortable) {
  const GemmCase& c = GetParam();
  const Shape weights = c.transposed_weights ? Shape{c.columns, c.inner} : Shape{c.inner, c.columns};
  std::vector<Shape> parameters{weights};
  if (c.bias) parameters.push_back({c.columns});
  for (const char* activation : {"", "Relu", "Tanh", "Sigmoid"}) {
    SCOPED_TRACE(activation);
    Chain chain({c.inner});
    chain.add("Gemm", {{"transB", std::int64_t{c.transposed_weights}}}, parameters);
    if (*activation != '\0') chain.add(activation);
    const Graph graph = chain.add("Gemm", {}, {{c.columns, 3}, {3}}).graph();
    expect_equals_portable(graph, c.rows);
    const auto execution = make_execution(graph, "onednn", c.rows);
    ASSERT_NE(execution, nullptr);
    expect_no_fallback(*execution);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, OnednnGemm,
    ::testing::Values(GemmCase{"one", 1, 1, 1, true, true}, GemmCase{"lenet", 64, 800, 500, true, true},
                      GemmCase{"not_transposed", 64, 800, 500, false, true}, GemmCase{"logits", 3, 500, 10, true, true},
                      GemmCase{"odd", 3, 17, 50, false, true}, GemmCase{"no_bias", 5, 20, 17, true, false},
                      GemmCase{"row", 1, 50, 64, true, true}),
    case_name);

TEST(OnednnMatMul, EqualsPortable) {
  const Graph graph = Chain({17}).add("MatMul", {}, {{17, 50}}).add("Tanh").add("MatMul", {}, {{50, 3}}).graph();
  expect_equals_portable(graph, 3);
}

// Cases that oneDNN has no primitive for must be computed by the portable kernels, not refused.
TEST(OnednnGemm, ScaledOrFullBiasFallsBack) {
  const Graph scaled = Chain({5}).add("Gemm", {{"alpha", 0.5f}, {"beta", 2.0f}}, {{5, 7}, {7}}).graph();
  expect_equals_portable(scaled, 3);
  const Graph scalar_bias = Chain({5}).add("Gemm", {}, {{5, 7}, {1}}).graph();
  expect_equals_portable(scalar_bias, 3);
}

struct PoolCase {
  const char* name;
  std::int64_t batch, channels, height, width;
  Ints kernel, strides{1, 1}, pads{0, 0, 0, 0};
};

class OnednnPool : public ::testing::TestWithParam<PoolCase> {};

TEST_P(OnednnPool, EqualsPortable) {
  const PoolCase& c = GetParam();
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const bool blocked : {false, true}) {
      SCOPED_TRACE(std::string(op) + (blocked ? " after a convolution" : ""));
      Chain chain({c.channels, c.height, c.width});
      if (blocked) chain.add("Conv", {}, {{c.channels, c.channels, 1, 1}, {c.channels}});
      chain.add(op, {{"kernel_shape", c.kernel}, {"strides", c.strides}, {"pads", c.pads}});
      const Graph graph = chain.graph();
      expect_equals_portable(graph, c.batch);
      const auto execution = make_execution(graph, "onednn", c.batch);
      ASSERT_NE(execution, nullptr);
      expect_no_fallback(*execution);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnednnPool,
                         ::testing::Values(PoolCase{"lenet", 3, 20, 24, 24, {2, 2}, {2, 2}},
                                           PoolCase{"one_channel", 64, 1, 8, 8, {2, 2}, {2, 2}},
                                           PoolCase{"overlapping", 3, 17, 9, 9, {3, 3}, {2, 2}},
                                           PoolCase{"padded", 1, 50, 7, 8, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                                           PoolCase{"asymmetric", 3, 3, 7, 8, {3, 2}, {1, 2}, {2, 0, 1, 1}},
                                           PoolCase{"rest_left_out", 2, 20, 7, 7, {2, 2}, {2, 2}}),
                         case_name);

TEST(OnednnPool, AverageCountingPaddingEqualsPortable) {
  const std::map<std::string, Attribute> attributes{
      {"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", std::int64_t{1}}};
  expect_equals_portable(Chain({17, 6, 6}).add("AveragePool", attributes).graph(), 3);
}

TEST(OnednnPool, GlobalAverageEqualsPortable) {
  expect_equals_portable(Chain({17, 6, 5}).add("GlobalAveragePool").graph(), 3);
  expect_equals_portable(Chain({3, 6, 5}).add("Conv", {}, {{20, 3, 3, 3}}).add("GlobalAveragePool").graph(), 3);
}

TEST(OnednnEltwise, EqualsPortable) {
  for (const char* op : {"Relu", "Tanh", "Sigmoid"}) {
    SCOPED_TRACE(op);
    expect_equals_portable(Chain({17, 3, 5}).add(op).graph(), 3);
    // pooling between, so that it works on a blocked value and cannot be fused
    const std::map<std::string, Attribute> window{{"kernel_shape", Ints{2, 2}}};
    expect_equals_portable(Chain({3, 6, 5})
                               .add("Conv", {}, {{20, 3, 2, 2}})
                               .add("MaxPool", window)
                               .add(op)
                               .add("Conv", {}, {{5, 20, 2, 2}})
                               .graph(),
                           3);
  }
}

TEST(OnednnSoftmax, EqualsPortable) {
  expect_equals_portable(Chain({10}).add("Softmax").graph(), 64);
  expect_equals_portable(Chain({17, 3, 5}).add("Softmax").graph(), 3);
}

// A residual block: two uses of one value, whose gradients add up, in blocked layout.
TEST(OnednnAdd, ResidualBlockEqualsPortable) {
  GraphParts parts;
  parts.inputs = {{"x", batch_of({3, 8, 8})}};
  parts.outputs = {"y"};
  parts.initializers = {{"w0", random_tensor({20, 3, 3, 3}, 1)},
                        {"w1", random_tensor({20, 20, 3, 3}, 2, 0.2f)},
                        {"w2", random_tensor({20, 20, 3, 3}, 3, 0.2f)}};
  const std::map<std::string, Attribute> same{{"pads", Ints{1, 1, 1, 1}}};
  parts.nodes = {{"stem", "Conv", same, {"x", "w0"}, {"a"}}, {"first", "Conv", same, {"a", "w1"}, {"b"}},
                 {"act", "Relu", {}, {"b"}, {"c"}},          {"second", "Conv", same, {"c", "w2"}, {"d"}},
                 {"sum", "Add", {}, {"d", "a"}, {"e"}},      {"out", "Relu", {}, {"e"}, {"y"}}};
  expect_equals_portable(one_node_graph(std::move(parts)), 3);
}

// One parameter in two convolutions of different shape: it lies as the first wants it, and its gradients add up.
TEST(OnednnConv, SharedWeightsEqualPortable) {
  GraphParts parts;
  parts.inputs = {{"x", batch_of({17, 8, 8})}};
  parts.outputs = {"y"};
  parts.initializers = {{"w", random_tensor({17, 17, 3, 3}, 1, 0.2f)}};
  parts.nodes = {{"first", "Conv", {}, {"x", "w"}, {"a"}},
                 {"second", "Conv", {{"strides", Ints{2, 2}}}, {"a", "w"}, {"y"}}};
  expect_equals_portable(one_node_graph(std::move(parts)), 3);
}

Graph lenet_graph() {
  const std::map<std::string, Attribute> window{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const std::map<std::string, Attribute> transposed{{"transB", std::int64_t{1}}};
  Chain lenet({1, 28, 28});
  lenet.add("Conv", {}, {{20, 1, 5, 5}, {20}}).add("Tanh").add("MaxPool", window);
  lenet.add("Conv", {}, {{50, 20, 5, 5}, {50}}).add("Tanh").add("MaxPool", window).add("Flatten");
  lenet.add("Gemm", transposed, {{500, 800}, {500}}).add("Tanh").add("Gemm", transposed, {{10, 500}, {10}});
  return lenet.graph();
}

TEST(OnednnLenet, StepEqualsPortable) {
  for (const std::int64_t batch : {1, 3, 16}) expect_equals_portable(lenet_graph(), batch, 1e-4);
}

TEST(OnednnLenet, StepOnThreeThreadsEqualsPortableAndItself) {
  const Graph graph = lenet_graph();
  const auto reference = make_execution(graph, "portable", 16);
  const auto execution = make_execution(graph, "onednn", 16, /*fuse=*/true, /*threads=*/3);
  ASSERT_TRUE(reference && execution);
  const StepOutcome found = run_step(*execution, 5);
  expect_close(found, run_step(*reference, 5), 1e-4);
  const auto again = make_execution(graph, "onednn", 16, /*fuse=*/true, /*threads=*/3);
  ASSERT_NE(again, nullptr);
  const StepOutcome repeated = run_step(*again, 5);
  EXPECT_EQ(repeated.outputs, found.outputs);
  EXPECT_EQ(repeated.gradients, found.gradients);
}

TEST(OnednnLenet, FusesActivationsAndCopiesOnlyAroundFlatten) {
  const auto execution = make_execution(lenet_graph(), "onednn", 16);
  ASSERT_NE(execution, nullptr);
  std::vector<std::string> copies;
  for (const auto& placed : execution->program().forward_steps()) {
    EXPECT_EQ(placed.step.node.find("Tanh"), std::string::npos) << placed.step.name;
    if (placed.step.name.find("reorder") != std::string::npos) copies.push_back(placed.step.node);
  }
  EXPECT_EQ(copies, std::vector<std::string>{"Flatten6"}) << execution->program().describe();
}

TEST(OnednnLenet, BlockedParametersSurviveTheRoundTrip) {
  const Graph graph = Chain({3, 9, 9}).add("Conv", {}, {{20, 3, 3, 3}, {20}}).add("Conv", {}, {{17, 20, 3, 3}}).graph();
  const auto execution = make_execution(graph, "onednn", 3);
  ASSERT_NE(execution, nullptr);
  for (const std::string& name : graph.parameters()) {
    const Tensor& original = graph.initializers().at(name);
    const auto expected = original.as<float>();
    const Tensor first = execution->parameter(name);
    EXPECT_TRUE(std::ranges::equal(first.as<float>(), expected)) << name;
    const Tensor other = random_tensor(original.shape(), 99);
    ASSERT_TRUE(execution->set_parameter(name, other).ok());
    const Tensor second = execution->parameter(name);
    EXPECT_TRUE(std::ranges::equal(second.as<float>(), other.as<float>())) << name;
  }
}

}  // namespace
}  // namespace mangrove
#endif
