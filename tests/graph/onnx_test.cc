#include "mangrove/graph/onnx.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <type_traits>

#include "tests/base/temporary_folder.h"
#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& value) {
        using Kind = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Kind, Tensor>) {
          return same_tensor(value, std::get<Tensor>(b));
        } else {
          return value == std::get<Kind>(b);
        }
      },
      a);
}

void expect_same_nodes(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const Node& left = a.nodes()[i];
    const Node& right = b.nodes()[i];
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.op, right.op);
    EXPECT_EQ(left.inputs, right.inputs);
    EXPECT_EQ(left.outputs, right.outputs);
    ASSERT_EQ(left.attributes.size(), right.attributes.size());
    for (const auto& [key, value] : left.attributes) {
      EXPECT_TRUE(same_attribute(value, right.attributes.at(key))) << left.name << " " << key;
    }
  }
}

void expect_same(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.inputs(), b.inputs());
  EXPECT_EQ(a.outputs(), b.outputs());
  EXPECT_EQ(a.metadata(), b.metadata());
  EXPECT_EQ(a.parameters(), b.parameters());
  expect_same_nodes(a, b);
  ASSERT_EQ(a.initializers().size(), b.initializers().size());
  for (const auto& [name, tensor] : a.initializers()) {
    EXPECT_TRUE(same_tensor(tensor, b.initializers().at(name))) << name;
  }
}

GraphParts with_odd_values() {
  GraphParts parts = testing::small_network();
  auto weights = parts.initializers.at("fc.weight").as<float>();
  weights[0] = std::nanf("7");
  weights[1] = -0.0f;
  weights[2] = std::numeric_limits<float>::denorm_min();
  weights[3] = -std::numeric_limits<float>::infinity();
  parts.initializers.emplace("unused.flags", Tensor::of<std::uint8_t>({2}, {0, 255}));
  parts.initializers.emplace("unused.f64", Tensor::of<double>(Shape{}, {0.1}));
  parts.initializers.emplace("unused.empty", Tensor(DType::i32, {0, 3}));
  return parts;
}

TEST(Onnx, RoundTripIsExact) {
  for (const GraphParts& parts : {with_odd_values(), testing::two_branches()}) {
    const Graph graph = Graph::create(parts).value();
    const std::string bytes = encode_onnx(graph);
    const auto parsed = parse_onnx(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    expect_same(graph, *parsed);
    EXPECT_EQ(encode_onnx(*parsed), bytes);
  }
}

TEST(Onnx, FixedBatchStaysFixed) {
  GraphParts parts = testing::two_branches();
  parts.inputs[0].second.shape = {3, 4};
  const auto parsed = parse_onnx(encode_onnx(Graph::create(parts).value()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->value("y").shape, (Shape{3, 4}));
}

TEST(Onnx, WritesTheVersionsThatItPromises) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(encode_onnx(Graph::create(testing::two_branches()).value())));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "mangrove");
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
}

TEST(Onnx, SavesAndLoadsFiles) {
  const testing::TemporaryFolder folder;
  const Graph graph = Graph::create(testing::small_network()).value();
  ASSERT_TRUE(save_onnx(graph, folder / "m.onnx").ok());
  EXPECT_EQ(fs::status(folder / "m.onnx").permissions(), fs::perms(0600)) << "weights are nobody else's business";
  const auto loaded = load_onnx(folder / "m.onnx");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_same(graph, *loaded);
  EXPECT_EQ(load_onnx(folder / "other.onnx").code(), Code::not_found);
  ASSERT_TRUE(write_file_atomically(folder / "text.onnx", "no model").ok());
  const auto text = load_onnx(folder / "text.onnx");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.code(), Code::data_loss);
  EXPECT_NE(text.error().message.find("text.onnx"), std::string::npos);
}

TEST(Onnx, LoadsFromAPipe) {
  const testing::TemporaryFolder folder;
  const Graph graph = Graph::create(testing::small_network()).value();
  ASSERT_EQ(::mkfifo((folder / "m.onnx").c_str(), 0600), 0);
  const std::jthread writer([&] { std::ofstream(folder / "m.onnx", std::ios::binary) << encode_onnx(graph); });
  const auto loaded = load_onnx(folder / "m.onnx");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_same(graph, *loaded);
}

TEST(Onnx, SaysWhichFileIsTruncated) {
  const testing::TemporaryFolder folder;
  const std::string whole = encode_onnx(Graph::create(testing::small_network()).value());
  ASSERT_TRUE(write_file_atomically(folder / "m.onnx", std::string_view(whole).substr(0, whole.size() / 2)).ok());
  const auto loaded = load_onnx(folder / "m.onnx");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.code(), Code::data_loss);
  EXPECT_NE(loaded.error().message.find("m.onnx"), std::string::npos);
  EXPECT_EQ(load_onnx(folder.path()).code(), Code::invalid_argument);
}

// A message may come in parts, which are to be merged, as two of its field are.
TEST(Onnx, MergesTheParts) {
  const Graph graph = Graph::create(testing::small_network()).value();
  onnx::ModelProto first, second;
  ASSERT_TRUE(first.ParseFromString(encode_onnx(graph)));
  for (int half = first.graph().initializer_size() / 2; half > 0; --half) {
    *second.mutable_graph()->add_initializer() = first.graph().initializer(first.graph().initializer_size() - 1);
    first.mutable_graph()->mutable_initializer()->RemoveLast();
  }
  ASSERT_GT(second.graph().initializer_size(), 0);
  const auto parsed = parse_onnx(first.SerializeAsString() + second.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  expect_same(graph, *parsed);
}

TEST(OnnxWriter, BatchInShapesIsPutTogetherAtRunTime) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}};
  parts.initializers = {{"shape", Tensor::of<std::int64_t>({2}, {kBatch, 3})}};
  parts.nodes = {testing::make_node("fill", "ConstantOfShape", {"shape"}, {"zeros"}),
                 testing::make_node("sum", "Add", {"x", "zeros"}, {"y"})};
  parts.outputs = {"y"};
  onnx::ModelProto model;
  const std::string bytes = encode_onnx(Graph::create(parts).value());
  ASSERT_TRUE(model.ParseFromString(bytes));
  EXPECT_EQ(model.graph().initializer_size(), 1);
  for (const auto& initializer : model.graph().initializer()) {
    const Tensor tensor = parse_onnx_tensor(initializer.SerializeAsString()).value();
    for (const std::int64_t size : tensor.as<std::int64_t>()) EXPECT_GE(size, 0);
  }
  EXPECT_EQ(model.graph().node(0).op_type(), "Shape");
  const auto parsed = parse_onnx(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->nodes().size(), 2u);
  EXPECT_EQ(parsed->value("y").shape, (Shape{kBatch, 3}));
}

/// As a framework exports a network that it still trains. read_mean: the running mean is an output of the graph too.
Graph exported_in_training(bool read_mean) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 2, 4, 4}}}};
  for (const char* name : {"scale", "bias", "mean", "variance"})
    parts.initializers.emplace(name, Tensor::of<float>({2}, {1.0f, 2.0f}));
  parts.initializers.emplace("ratio", Tensor::of<float>({}, {0.5f}));
  Tensor yes(DType::boolean, Shape{});
  yes.as<bool>()[0] = true;
  parts.initializers.emplace("yes", std::move(yes));
  parts.nodes = {testing::make_node("norm", "BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
                                    {"normal", "mean_after", "variance_after"}, {{"training_mode", std::int64_t{1}}}),
                 testing::make_node("drop", "Dropout", {"normal", "ratio", "yes"}, {"y"})};
  parts.outputs = {"y"};
  if (read_mean) parts.outputs.emplace_back("mean_after");
  return Graph::create(std::move(parts)).value();
}

/// As ONNX has it: with training_mode 1, BatchNormalization must have three outputs, without it one.
TEST(OnnxWriter, WritesWhatInferenceComputes) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(encode_onnx(exported_in_training(false))));
  ASSERT_EQ(model.graph().node_size(), 2);
  const auto& norm = model.graph().node(0);
  EXPECT_EQ(norm.output_size(), 1);
  for (const auto& attribute : norm.attribute()) EXPECT_NE(attribute.name(), "training_mode");
  EXPECT_EQ(model.graph().node(1).input_size(), 2) << "Dropout without its training_mode";
  for (const auto& initializer : model.graph().initializer()) EXPECT_NE(initializer.name(), "yes");
  const auto parsed = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->states(), (std::vector<std::string>{"mean", "variance"})) << "it can still be trained";
}

TEST(OnnxWriter, RunningStatisticsThatAreReadAreThoseThatInferenceKeeps) {
  const auto parsed = parse_onnx(encode_onnx(exported_in_training(true)));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->outputs(), (std::vector<std::string>{"y", "mean_after"}));
  const auto found = std::find_if(parsed->nodes().begin(), parsed->nodes().end(),
                                  [](const Node& node) { return node.op == "Identity"; });
  ASSERT_NE(found, parsed->nodes().end());
  EXPECT_EQ(found->inputs, std::vector<std::string>{"mean"});
}

TEST(OnnxWriter, GroupNormalizationIsWrittenAsOpset17AndReadBack) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 6, 4, 5}}}};
  parts.initializers = {{"scale", Tensor(DType::f32, {6})}, {"bias", Tensor(DType::f32, {6})}};
  parts.nodes = {testing::make_node("norm", "GroupNormalization", {"x", "scale", "bias"}, {"y"},
                                    {{"num_groups", std::int64_t{3}}, {"epsilon", 1e-3f}})};
  parts.outputs = {"y"};
  const Graph graph = Graph::create(parts).value();
  onnx::ModelProto model;
  const std::string bytes = encode_onnx(graph);
  ASSERT_TRUE(model.ParseFromString(bytes));
  for (const auto& node : model.graph().node()) EXPECT_NE(node.op_type(), "GroupNormalization");
  const auto parsed = parse_onnx(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  expect_same(graph, *parsed);
}

TEST(OnnxWriter, OperatorsThatOpset17LacksAreWrittenInTheirOwn) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 6}}}};
  parts.nodes = {testing::make_node("gelu", "Gelu", {"x"}, {"h"}, {{"approximate", std::string("tanh")}}),
                 testing::make_node("split", "Split", {"h"}, {"a", "b"}, {{"axis", std::int64_t{1}}}),
                 testing::make_node("sum", "Add", {"a", "b"}, {"c"}),
                 testing::make_node("mean", "ReduceMean", {"c"}, {"y"}, {{"axes", std::vector<std::int64_t>{1}}})};
  parts.outputs = {"y"};
  const Graph graph = Graph::create(parts).value();
  onnx::ModelProto model;
  const std::string bytes = encode_onnx(graph);
  ASSERT_TRUE(model.ParseFromString(bytes));
  EXPECT_EQ(model.opset_import(0).version(), 20);
  EXPECT_EQ(model.graph().node(1).attribute(1).name(), "num_outputs");
  EXPECT_EQ(model.graph().node(3).input_size(), 2) << "its axes are an input";
  const auto parsed = parse_onnx(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  expect_same(graph, *parsed);
}

TEST(OnnxWriter, ValuesThatAreRoundedTo16BitsStayF32) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {kBatch, 6}}}};
  parts.nodes = {testing::make_node("narrow", "Cast", {"x"}, {"y"}, {{"to", std::int64_t{10}}})};
  parts.outputs = {"y"};
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(encode_onnx(Graph::create(parts).value())));
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), onnx::TensorProto::FLOAT16);
  EXPECT_EQ(model.graph().node(1).attribute(0).i(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(model.graph().output(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  const auto parsed = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->value("y").dtype, DType::f32);
}

}  // namespace
}  // namespace mangrove
