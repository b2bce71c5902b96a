#include "mangrove/graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/graph/small_graphs.h"

#include "mangrove/base/process_memory.h"

namespace mangrove {
namespace {

using testing::make_node;
using testing::small_network;
using testing::two_branches;

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

TEST(Graph, InfersShapesWithASymbolicBatch) {
  const auto graph = Graph::create(small_network());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("c1").shape, (Shape{kBatch, 4, 8, 8}));
  EXPECT_EQ(graph->value("p1").shape, (Shape{kBatch, 4, 4, 4}));
  EXPECT_EQ(graph->value("f1").shape, (Shape{kBatch, 64}));
  EXPECT_EQ(graph->value("probabilities").shape, (Shape{kBatch, 5}));
  EXPECT_EQ(graph->value("shape").dtype, DType::i64);
  EXPECT_TRUE(graph->has_value("logits"));
  EXPECT_FALSE(graph->has_value("nothing"));
}

TEST(Graph, KeepsTheGivenOrderWhereItIsSorted) {
  EXPECT_EQ(node_names(Graph::create(two_branches()).value()),
            (std::vector<std::string>{"left", "relu", "right", "add"}));
}

TEST(Graph, SortsNodesInAnyOrder) {
  GraphParts parts = small_network();
  std::reverse(parts.nodes.begin(), parts.nodes.end());
  const auto graph = Graph::create(parts);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(node_names(*graph), (std::vector<std::string>{"conv", "relu", "pool", "reshape", "fc", "softmax"}));
}

TEST(Graph, ParametersAreFloatsInNodeOrderEachOnce) {
  const Graph small = Graph::create(small_network()).value();
  EXPECT_EQ(small.parameters(), (std::vector<std::string>{"conv.weight", "conv.bias", "fc.weight", "fc.bias"}));
  EXPECT_EQ(small.parameter_elements(), 4 * 2 * 9 + 4 + 5 * 64 + 5);
  const Graph branches = Graph::create(two_branches()).value();
  EXPECT_EQ(branches.parameters(), (std::vector<std::string>{"shared", "bias"}));
}

TEST(Graph, WithInitializersReplacesOnlyThose) {
  const Graph graph = Graph::create(two_branches()).value();
  const auto changed = graph.with_initializers({{"bias", Tensor::of<float>({4}, {9, 8, 7, 6})}});
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed->initializers().at("bias").as<float>()[0], 9);
  EXPECT_NE(graph.initializers().at("bias").as<float>()[0], 9);
  EXPECT_EQ(changed->initializers().at("shared").data(), graph.initializers().at("shared").data());
}

TEST(Graph, WithInitializersRefusesUnknownNamesAndOtherShapes) {
  const Graph graph = Graph::create(two_branches()).value();
  EXPECT_EQ(graph.with_initializers({{"bios", Tensor(DType::f32, {4})}}).code(), Code::not_found);
  EXPECT_EQ(graph.with_initializers({{"bias", Tensor(DType::f32, {5})}}).code(), Code::invalid_argument);
  EXPECT_EQ(graph.with_initializers({{"bias", Tensor(DType::f64, {4})}}).code(), Code::invalid_argument);
}

struct Wrong {
  const char* name;
  std::function<void(GraphParts&)> break_it;
  const char* message;  // a part of the error
  Code code = Code::invalid_argument;
};

class WrongGraph : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongGraph, IsRefusedByNameAndReason) {
  GraphParts parts = small_network();
  GetParam().break_it(parts);
  const auto graph = Graph::create(parts);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), GetParam().code);
  EXPECT_NE(graph.error().message.find(GetParam().message), std::string::npos) << graph.error().message;
}

const Wrong kWrong[] = {
    {"UnknownOperator", [](GraphParts& p) { p.nodes[1].op = "Rellu"; },
     "node 'relu': unknown operator 'Rellu'; did you mean 'Relu'?"},
    {"UnknownAttribute", [](GraphParts& p) { p.nodes[0].attributes["kernel_shap"] = std::int64_t{3}; },
     "node 'conv' (Conv): unknown attribute 'kernel_shap'; did you mean 'kernel_shape'?"},
    {"AttributeOfWrongKind", [](GraphParts& p) { p.nodes[4].attributes["alpha"] = std::int64_t{1}; },
     "node 'fc' (Gemm): attribute 'alpha' is an integer, expected a real"},
    {"TooFewInputs", [](GraphParts& p) { p.nodes[0].inputs.resize(1); }, "has 1 inputs, expected 2 to 3"},
    {"TooManyInputs", [](GraphParts& p) { p.nodes[1].inputs.push_back("x"); }, "has 2 inputs, expected 1"},
    {"TooManyOutputs", [](GraphParts& p) { p.nodes[1].outputs.push_back("i"); }, "has 2 outputs, expected 1"},
    {"RequiredInputLeftOut", [](GraphParts& p) { p.nodes[0].inputs[1] = ""; }, "input 1 is left out"},
    {"UndefinedValue", [](GraphParts& p) { p.nodes[1].inputs[0] = "c2"; },
     "node 'relu' (Relu): input 'c2' is not defined"},
    {"ValueDefinedTwice", [](GraphParts& p) { p.nodes[1].outputs[0] = "c1"; }, "value 'c1' is defined twice"},
    {"ValueHidesInput", [](GraphParts& p) { p.nodes[1].outputs[0] = "x"; }, "value 'x' is defined twice"},
    {"InputHidesInitializer",
     [](GraphParts& p) {
       p.inputs.push_back({"shape", {}});
     },
     "'shape' is defined twice"},
    {"NodeNamesNotUnique", [](GraphParts& p) { p.nodes[1].name = "conv"; }, "two nodes have the name 'conv'"},
    {"NodeWithoutName", [](GraphParts& p) { p.nodes[1].name = ""; }, "a node (Relu) has no name"},
    {"Cycle", [](GraphParts& p) { p.nodes[0].inputs[0] = "p1"; }, "the graph has a cycle"},
    {"UndefinedOutput", [](GraphParts& p) { p.outputs = {"logit"}; },
     "graph output 'logit' is not defined; did you mean 'logits'?"},
    {"OutputListedTwice",
     [](GraphParts& p) {
       p.outputs = {"logits", "logits"};
     },
     "'logits' is listed twice"},
    {"NoOutputs", [](GraphParts& p) { p.outputs.clear(); }, "graph 'small' has no outputs"},
    {"EmptyInput",
     [](GraphParts& p) {
       p.inputs[0].second.shape = {kBatch, 2, 0, 8};
     },
     "dimension 2 of shape"},
    {"BatchNotFirst",
     [](GraphParts& p) {
       p.inputs[0].second.shape = {1, 2, kBatch, 8};
     },
     "[1, 2, N, 8]", Code::unimplemented},
    {"TwoBatches",
     [](GraphParts& p) {
       p.inputs[0].second.shape = {kBatch, 2, kBatch, 8};
     },
     "the batch in several dimensions", Code::unimplemented},
    {"InputTooLarge",
     [](GraphParts& p) {
       p.inputs[0].second.shape = {kBatch, std::int64_t{1} << 40, std::int64_t{1} << 40, 8};
     },
     "too many elements"},
    {"ShapesDoNotFit",
     [](GraphParts& p) {
       p.inputs[0].second.shape = {kBatch, 2, 9, 10};
     },
     "node 'fc' (Gemm): inner dimensions differ: [N, 80] x [5, 64], B transposed"},
    {"MixedTypes", [](GraphParts& p) { p.inputs[0].second.dtype = DType::f64; },
     "node 'conv' (Conv): inputs have types f64 and f32"},
    {"IntegerImage", [](GraphParts& p) { p.inputs[0].second.dtype = DType::u8; }, "input 0 has type u8",
     Code::unimplemented},
};

INSTANTIATE_TEST_SUITE_P(Cases, WrongGraph, ::testing::ValuesIn(kWrong),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Graph, WithoutWeightsKeepsAllElse) {
  const Graph graph = Graph::create(testing::small_network()).value();
  const Graph bare = graph.without_weights();
  ASSERT_EQ(bare.parameters(), graph.parameters());
  const std::vector<std::string> parameters = graph.parameters();
  for (const auto& [name, tensor] : graph.initializers()) {
    const Tensor& other = bare.initializers().at(name);
    EXPECT_EQ(other.shape(), tensor.shape());
    EXPECT_EQ(other.dtype(), tensor.dtype());
    const bool is_parameter = std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    EXPECT_EQ(other.data() == tensor.data(), !is_parameter) << name;
    if (!is_parameter) continue;
    const auto weights = other.as<float>();
    EXPECT_TRUE(std::all_of(weights.begin(), weights.end(), [](float w) { return w == 0; })) << name;
  }
}

// malloc hands out again what was freed, and clears it, which makes it resident.
TEST(Graph, WithoutWeightsTakesNoMemoryForThem) {
  constexpr std::int64_t kWidth = 1024;  // 4 MiB of weights a layer
  GraphParts parts;
  parts.name = "wide";
  parts.inputs = {{"x", {DType::f32, {kBatch, kWidth}}}};
  std::string last = "x";
  for (int layer = 0; layer < 16; ++layer) {
    const std::string name = "w" + std::to_string(layer), out = "y" + std::to_string(layer);
    parts.initializers.emplace(name, Tensor(DType::f32, {kWidth, kWidth}));
    parts.nodes.push_back(make_node(out, "MatMul", {last, name}, {out}));
    last = out;
  }
  parts.outputs = {last};
  const Graph graph = Graph::create(std::move(parts)).value();
  using Block = std::vector<std::byte>;
  constexpr std::size_t kBlock = std::size_t{5} << 20;
  { const Block freed(kBlock); }  // from now on, blocks of this size come from the heap
  std::vector<Block> used(16, Block(kBlock, std::byte{1}));
  const Block keeps_the_heap_long(1 << 16, std::byte{1});
  used.clear();
  const Bytes before = resident_memory();
  const Graph bare = graph.without_weights();
  EXPECT_LT(resident_memory() - before, MiB(2));
  EXPECT_EQ(bare.initializers().size(), 16u);
}

}  // namespace
}  // namespace mangrove
