// What older opsets said must mean the same in opset 17: each row of the upgrade's table, on a node as old files have
// it.
#include "mangrove/graph/onnx_upgrade.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/fold_shapes.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

// A file of one node on x (and y, if the node has two inputs), through all that loading does.
Result<Graph> load(const Node& node, const Shape& x, std::int64_t opset, std::size_t outputs = 1) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, x}}};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    parts.initializers.emplace(node.inputs[i], Tensor(DType::f32, Shape{x[1]}));
  }
  parts.nodes = {node};
  parts.outputs.assign(node.outputs.begin(), node.outputs.begin() + static_cast<std::ptrdiff_t>(outputs));
  MG_RETURN_IF_ERROR(upgrade_opset(parts, opset));
  const auto rewrite = [opset](Node one, std::map<std::string, Tensor>& initializers, Values& values) {
    return upgrade_with_shapes(std::move(one), opset, initializers, values);
  };
  MG_TRY(GraphParts folded, fold_shapes(std::move(parts), {.rewrite = rewrite}));
  return Graph::create(std::move(folded));
}

Node old_node(const std::string& op, Attributes attributes, std::vector<std::string> inputs = {"x"},
              std::vector<std::string> outputs = {"y"}) {
  return testing::make_node("old", op, std::move(inputs), std::move(outputs), std::move(attributes));
}

Ints integer_tensor(const Graph& graph, std::size_t input) {
  const auto values = graph.initializers().at(graph.nodes()[0].inputs.at(input)).as<std::int64_t>();
  return {values.begin(), values.end()};
}

float real(const Graph& graph, std::size_t input) {
  return graph.initializers().at(graph.nodes()[0].inputs.at(input)).as<float>()[0];
}

struct OnnxUpgradeCase {
  std::string name;
  Node node;
  std::int64_t opset;
  Shape x, y;
  std::function<void(const Graph&)> check = [](const Graph&) {};
};

const Shape kImage{2, 3, 4, 6};

const OnnxUpgradeCase kCases[] = {
    {"Clip", old_node("Clip", {{"min", -1.0f}, {"max", 6.0f}}), 10, kImage, kImage,
     [](const Graph& g) {
       EXPECT_EQ(real(g, 1), -1);
       EXPECT_EQ(real(g, 2), 6);
     }},
    {"ClipAboveOnly", old_node("Clip", {{"max", 6.0f}}), 7, kImage, kImage,
     [](const Graph& g) {
       EXPECT_EQ(g.nodes()[0].inputs[1], "");
       EXPECT_EQ(real(g, 2), 6);
     }},
    {"Dropout", old_node("Dropout", {{"ratio", 0.25f}}), 11, kImage, kImage,
     [](const Graph& g) { EXPECT_EQ(real(g, 1), 0.25f); }},
    {"DropoutWithUnreadMask", old_node("Dropout", {}, {"x"}, {"y", "mask"}), 7, kImage, kImage},
    {"Pad", old_node("Pad", {{"pads", Ints{0, 0, 1, 2, 0, 0, 3, 4}}, {"value", 0.5f}, {"mode", std::string("constant")}}),
     10, kImage, {2, 3, 8, 12}, [](const Graph& g) { EXPECT_EQ(real(g, 2), 0.5f); }},
    {"ReduceSum", old_node("ReduceSum", {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}}), 12, kImage, {2, 4, 6}},
    {"ReduceSumOfAll", old_node("ReduceSum", {{"keepdims", std::int64_t{0}}}), 12, kImage, Shape{}},
    {"Slice", old_node("Slice", {{"starts", Ints{1, 0}}, {"ends", Ints{3, -1}}, {"axes", Ints{2, 3}}}), 9, kImage,
     {2, 3, 2, 5}},
    {"SliceAllAxes", old_node("Slice", {{"starts", Ints{1}}, {"ends", Ints{2}}}), 7, kImage, {1, 3, 4, 6}},
    {"Split", old_node("Split", {{"split", Ints{1, 2}}, {"axis", std::int64_t{1}}}, {"x"}, {"y", "z"}), 12, kImage,
     {2, 1, 4, 6}},
    {"SplitEvenly", old_node("Split", {{"axis", std::int64_t{3}}}, {"x"}, {"y", "z"}), 7, kImage, {2, 3, 4, 3}},
    {"Squeeze", old_node("Squeeze", {{"axes", Ints{1}}}), 12, {2, 1, 4}, {2, 4}},
    {"SqueezeAll", old_node("Squeeze", {}), 7, {2, 1, 4}, {2, 4}},
    {"Unsqueeze", old_node("Unsqueeze", {{"axes", Ints{0, 2}}}), 12, {2, 4}, {1, 2, 1, 4}},
    {"TopK", old_node("TopK", {{"k", std::int64_t{2}}, {"axis", std::int64_t{1}}}, {"x"}, {"y", "i"}), 9, {2, 5}, {2, 2},
     [](const Graph& g) { EXPECT_EQ(integer_tensor(g, 1), Ints{2}); }},
    {"Upsample", old_node("Upsample", {{"mode", std::string("nearest")}, {"scales", std::vector<float>{1, 1, 2, 3}}}), 7,
     kImage, {2, 3, 8, 18},
     [](const Graph& g) {
       EXPECT_EQ(g.nodes()[0].op, "Resize");
       EXPECT_EQ(g.nodes()[0].string_or("coordinate_transformation_mode", ""), "asymmetric");
       EXPECT_EQ(g.nodes()[0].string_or("nearest_mode", ""), "floor");
     }},
    {"BatchNormalization",
     old_node("BatchNormalization", {{"spatial", std::int64_t{1}}}, {"x", "scale", "bias", "mean", "variance"},
              {"y", "batch_mean", "batch_variance", "saved_mean", "saved_variance"}),
     8, kImage, kImage, [](const Graph& g) { EXPECT_EQ(g.nodes()[0].outputs.size(), 1u); }},
    {"SoftmaxOverTheLast", old_node("Softmax", {{"axis", std::int64_t{3}}}), 12, kImage, kImage,
     [](const Graph& g) { EXPECT_EQ(g.nodes().size(), 1u); }},
    {"SoftmaxOfMatrix", old_node("Softmax", {}), 11, {2, 5}, {2, 5},
     [](const Graph& g) {
       ASSERT_EQ(g.nodes().size(), 1u);
       EXPECT_EQ(g.nodes()[0].int_or("axis", 0), 1);
     }},
    {"SoftmaxOverPlanesOfOne", old_node("Softmax", {}), 11, {kBatch, 5, 1, 1}, {kBatch, 5, 1, 1},
     [](const Graph& g) { EXPECT_EQ(g.nodes().size(), 1u); }},
    {"SoftmaxOverAllAfterTheBatch", old_node("Softmax", {}), 11, {kBatch, 3, 4, 6}, {kBatch, 3, 4, 6},
     [](const Graph& g) {
       ASSERT_EQ(g.nodes().size(), 3u);
       EXPECT_EQ(g.value(g.nodes()[1].outputs[0]).shape, (Shape{kBatch, 72}));
     }},
    {"LogSoftmaxOverTheLastTwo", old_node("LogSoftmax", {{"axis", std::int64_t{-2}}}), 7, kImage, kImage,
     [](const Graph& g) {
       ASSERT_EQ(g.nodes().size(), 3u);
       EXPECT_EQ(g.value(g.nodes()[1].outputs[0]).shape, (Shape{6, 24}));
     }},
    {"NewSoftmaxStays", old_node("Softmax", {{"axis", std::int64_t{1}}}), 13, kImage, kImage,
     [](const Graph& g) { EXPECT_EQ(g.nodes().size(), 1u); }},
};

class OldForm : public ::testing::TestWithParam<OnnxUpgradeCase> {};

TEST_P(OldForm, BecomesOpset17) {
  const OnnxUpgradeCase& test = GetParam();
  const auto graph = load(test.node, test.x, test.opset);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("y").shape, test.y);
  test.check(*graph);
}

INSTANTIATE_TEST_SUITE_P(Cases, OldForm, ::testing::ValuesIn(kCases), [](const auto& test) { return test.param.name; });

TEST(OldForm, BatchNormalizationPerActivationIsRefused) {
  const auto graph =
      load(old_node("BatchNormalization", {{"spatial", std::int64_t{0}}}, {"x", "scale", "bias", "mean", "variance"}),
           kImage, 8);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("spatial"), std::string::npos) << graph.error().message;
}

TEST(OldForm, BatchStatisticsThatAreReadAreRefused) {
  const auto graph =
      load(old_node("BatchNormalization", {}, {"x", "scale", "bias", "mean", "variance"}, {"y", "m"}), kImage, 9, 2);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("output 1 ('m')"), std::string::npos) << graph.error().message;
}

TEST(OldForm, NamesOfNewValuesAreNotTakenFromOthers) {
  Node softmax = old_node("Softmax", {});
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, kImage}}};
  const std::string taken = softmax.name + ".shape";
  parts.initializers = {{taken, Tensor::of<float>(Shape{1}, {2.0f})}};
  Node scaled{.name = "scaled", .op = "Mul", .attributes = {}, .inputs = {"y", taken}, .outputs = {"z"}};
  parts.nodes = {softmax, scaled};
  parts.outputs = {"z"};
  const auto rewrite = [](Node one, std::map<std::string, Tensor>& initializers, Values& values) {
    return upgrade_with_shapes(std::move(one), 11, initializers, values);
  };
  const auto folded = fold_shapes(std::move(parts), {.rewrite = rewrite});
  ASSERT_TRUE(folded.ok()) << folded.error().message;
  const auto graph = Graph::create(*folded);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->initializers().at(taken).as<float>()[0], 2.0f);
}

// Since opset 11 an empty tensor may stand for an input left out.
TEST(OldForm, EmptyInputsOfResizeAreLeftOut) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, kImage}}};
  parts.initializers = {{"roi", Tensor(DType::f32, {0})},
                        {"scales", Tensor(DType::f32, {0})},
                        {"sizes", Tensor::of<std::int64_t>({4}, {2, 3, 8, 12})}};
  parts.nodes = {old_node("Resize", {{"mode", std::string("nearest")}}, {"x", "roi", "scales", "sizes"})};
  parts.outputs = {"y"};
  ASSERT_TRUE(upgrade_opset(parts, 11).ok());
  EXPECT_EQ(parts.nodes[0].inputs, (std::vector<std::string>{"x", "", "", "sizes"}));
}

}  // namespace
}  // namespace mangrove
