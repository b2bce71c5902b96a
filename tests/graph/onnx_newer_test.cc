// What opsets 18 to 21 say must mean the same in opset 17.
#include "mangrove/graph/onnx_newer.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/fold_shapes.h"
#include "mangrove/graph/onnx_upgrade.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;
using Initializers = std::map<std::string, Tensor>;

const Shape kNewerImage{kBatch, 6, 4, 8};

Tensor newer_integers(const Ints& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// A file of one node on x, through all that loading does.
Result<Graph> load_newer(const Node& node, const Initializers& initializers, std::int64_t opset) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, kNewerImage}}};
  parts.initializers = initializers;
  parts.nodes = {node};
  parts.outputs = node.outputs;
  MG_RETURN_IF_ERROR(upgrade_opset(parts, opset));
  const auto rewrite = [opset](Node one, Initializers& known, Values& values) {
    return upgrade_with_shapes(std::move(one), opset, known, values);
  };
  MG_TRY(GraphParts folded, fold_shapes(std::move(parts), {.rewrite = rewrite}));
  return Graph::create(std::move(folded));
}

Node newer_node(const std::string& op, Attributes attributes, std::vector<std::string> inputs = {"x"},
                std::vector<std::string> outputs = {"y"}) {
  return testing::make_node("newer", op, std::move(inputs), std::move(outputs), std::move(attributes));
}

struct NewerCase {
  std::string name;
  Node node;
  Initializers initializers;
  std::int64_t opset;
  Shape y;
  std::function<void(const Graph&)> check = [](const Graph&) {};
};

const std::int64_t kNo = 0, kYes = 1;

const NewerCase kNewerCases[] = {
    {"AxesOfAReduction",
     newer_node("ReduceMean", {{"keepdims", kNo}}, {"x", "axes"}),
     {{"axes", newer_integers({2, -1})}},
     18,
     {kBatch, 6},
     [](const Graph& g) { EXPECT_TRUE(g.initializers().empty()) << "nobody reads the axes any more"; }},
    {"ReductionOfAll", newer_node("ReduceL2", {{"keepdims", kNo}}), {}, 18, Shape{}},
    {"ReductionOfNothing",
     newer_node("ReduceMax", {{"noop_with_empty_axes", kYes}}),
     {},
     18,
     kNewerImage,
     [](const Graph& g) { EXPECT_EQ(g.nodes().at(0).op, "Identity"); }},
    {"OldReduction", newer_node("ReduceMean", {{"axes", Ints{2, 3}}, {"keepdims", kNo}}), {}, 17, {kBatch, 6}},
    {"EvenSplit",
     newer_node("Split", {{"axis", kYes}, {"num_outputs", std::int64_t{2}}}, {"x"}, {"y", "z"}),
     {},
     18,
     {kBatch, 3, 4, 8}},
    {"SplitWithASmallerPart",
     newer_node("Split", {{"axis", std::int64_t{3}}, {"num_outputs", std::int64_t{3}}}, {"x"}, {"w", "v", "y"}),
     {},
     18,
     {kBatch, 6, 4, 2},
     [](const Graph& g) {
       EXPECT_EQ(g.value("w").shape, (Shape{kBatch, 6, 4, 3}));
     }},
    {"PadOfSomeAxes",
     newer_node("Pad", {}, {"x", "pads", "", "axes"}),
     {{"pads", newer_integers({1, 2, 3, 4})}, {"axes", newer_integers({-1, 1})}},
     18,
     {kBatch, 12, 4, 12}},
    {"PadOfAll",
     newer_node("Pad", {}, {"x", "pads"}),
     {{"pads", newer_integers({0, 1, 0, 0, 0, 2, 0, 0})}},
     21,
     {kBatch, 9, 4, 8}},
    {"ResizeOfSomeAxes",
     newer_node("Resize",
                {{"axes", Ints{3, 2}}, {"antialias", kNo}, {"keep_aspect_ratio_policy", std::string("stretch")}},
                {"x", "", "scales"}),
     {{"scales", Tensor::of<float>({2}, {0.5f, 3})}},
     18,
     {kBatch, 6, 12, 4}},
    {"ResizeToSizesOfSomeAxes",
     newer_node("Resize", {{"axes", Ints{-1}}}, {"x", "", "", "sizes"}),
     {{"sizes", newer_integers({5})}},
     19,
     {kBatch, 6, 4, 5}},
    {"GroupNormalizationWithGroups",
     newer_node("GroupNormalization", {{"num_groups", std::int64_t{3}}}, {"x", "s", "b"}),
     {{"s", Tensor(DType::f32, {3})}, {"b", Tensor(DType::f32, {3})}},
     18,
     kNewerImage,
     [](const Graph& g) {
       EXPECT_EQ(g.nodes().at(1).op, "InstanceNormalization");
       EXPECT_EQ(g.parameters(), (std::vector<std::string>{"s", "b"}));
     }},
    {"GroupNormalizationWithChannels",
     newer_node("GroupNormalization", {{"num_groups", std::int64_t{3}}, {"stash_type", kYes}}, {"x", "s", "b"}),
     {{"s", Tensor(DType::f32, {6})}, {"b", Tensor(DType::f32, {6})}},
     21,
     kNewerImage,
     [](const Graph& g) { EXPECT_EQ(g.nodes().at(0).op, "GroupNormalization"); }},
    {"DensePool",
     newer_node("AveragePool", {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{1, 1}}}),
     {},
     19,
     {kBatch, 6, 3, 7}},
    {"Cast", newer_node("Cast", {{"to", std::int64_t{11}}, {"saturate", kYes}}), {}, 19, kNewerImage},
    {"Quantization",
     newer_node("QuantizeLinear", {{"saturate", kYes}, {"block_size", kNo}, {"output_dtype", kNo}}, {"x", "scale"}),
     {{"scale", Tensor::of<float>({}, {0.5f})}},
     21,
     kNewerImage},
};

class NewerForm : public ::testing::TestWithParam<NewerCase> {};

TEST_P(NewerForm, BecomesOpset17) {
  const NewerCase& test = GetParam();
  const auto graph = load_newer(test.node, test.initializers, test.opset);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("y").shape, test.y);
  test.check(*graph);
}

INSTANTIATE_TEST_SUITE_P(Cases, NewerForm, ::testing::ValuesIn(kNewerCases),
                         [](const auto& test) { return test.param.name; });

struct NewerRefusal {
  const char* name;
  Node node;
  Initializers initializers;
  std::int64_t opset;
  const char* message;
};

const NewerRefusal kNewerRefusals[] = {
    {"AxesThatAreComputed", newer_node("ReduceMean", {}, {"x", "x"}), {}, 18, "axes (input 1) must be a constant"},
    {"NormOfNothing", newer_node("ReduceL2", {{"noop_with_empty_axes", kYes}}), {}, 18, "noop_with_empty_axes"},
    {"OtherNumberOfParts",
     newer_node("Split", {{"num_outputs", std::int64_t{3}}}, {"x"}, {"y", "z"}),
     {},
     18,
     "num_outputs is 3, but it has 2 outputs"},
    {"Antialias",
     newer_node("Resize", {{"antialias", kYes}}, {"x", "", "scales"}),
     {{"scales", Tensor::of<float>({4}, {1, 1, 2, 2})}},
     18,
     "antialias"},
    {"AspectRatio",
     newer_node("Resize", {{"keep_aspect_ratio_policy", std::string("not_larger")}}, {"x", "", "", "sizes"}),
     {{"sizes", newer_integers({1, 6, 8, 8})}},
     18,
     "keep_aspect_ratio_policy"},
    {"DilatedPool",
     newer_node("AveragePool", {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 1}}}),
     {},
     19,
     "dilations"},
    {"Blocks",
     newer_node("QuantizeLinear", {{"block_size", std::int64_t{2}}}, {"x", "scale"}),
     {{"scale", Tensor::of<float>({}, {0.5f})}},
     21,
     "block_size"},
    {"PadAxisTwiceAsLong",
     newer_node("Pad", {}, {"x", "pads", "", "axes"}),
     {{"pads", newer_integers({1, 2})}, {"axes", newer_integers({2, 3})}},
     18,
     "has 4 inputs"},
};

class NewerFormRefused : public ::testing::TestWithParam<NewerRefusal> {};

TEST_P(NewerFormRefused, SaysWhy) {
  const NewerRefusal& test = GetParam();
  const auto graph = load_newer(test.node, test.initializers, test.opset);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find(test.message), std::string::npos) << graph.error().message;
  EXPECT_NE(graph.error().message.find("node 'newer'"), std::string::npos) << graph.error().message;
}

INSTANTIATE_TEST_SUITE_P(Cases, NewerFormRefused, ::testing::ValuesIn(kNewerRefusals),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace mangrove
