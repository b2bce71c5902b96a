#include "mangrove/graph/onnx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
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

// A model as its protobuf, to be changed and read.
onnx::ModelProto small_model() {
  onnx::ModelProto model;
  MG_CHECK(model.ParseFromString(encode_onnx(Graph::create(testing::small_network()).value())));
  return model;
}

onnx::AttributeProto integer_attribute(const std::string& name, std::int64_t value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

TEST(OnnxReader, ConstantNodesBecomeInitializers) {
  onnx::ModelProto model = small_model();
  auto& initializers = *model.mutable_graph()->mutable_initializer();
  for (int i = 0; i < initializers.size(); ++i) {
    if (initializers[i].name() == "shape") initializers.DeleteSubrange(i, 1);
  }
  auto& constant = *model.mutable_graph()->add_node();
  constant.set_op_type("Constant");
  constant.add_output("shape");
  auto& attribute = *constant.add_attribute();
  attribute.set_name("value_ints");
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.add_ints(-1);
  attribute.add_ints(64);
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes().size(), 6u);
  EXPECT_EQ(graph->initializers().at("shape").as<std::int64_t>()[1], 64);
}

TEST(OnnxReader, InitializersListedAsInputsAreNoInputs) {
  onnx::ModelProto model = small_model();
  auto& listed = *model.mutable_graph()->add_input();
  listed.set_name("fc.bias");
  listed.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->inputs().size(), 1u);
}

TEST(OnnxReader, BatchIsAnyDimensionZeroWithoutASize) {
  for (const bool named : {false, true}) {
    onnx::ModelProto model = small_model();
    auto& dim =
        *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(
            0);
    dim.Clear();
    if (named) dim.set_dim_param("whatever");
    const auto graph = parse_onnx(model.SerializeAsString());
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_TRUE(graph->inputs()[0].second.shape.is_symbolic());
  }
}

TEST(OnnxReader, GivesUnnamedAndDoublyNamedNodesTheirOwnNames) {
  onnx::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(0)->clear_name();
  model.mutable_graph()->mutable_node(1)->set_name("pool");
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes()[0].name, "Conv_1");
  EXPECT_EQ(graph->nodes()[1].name, "pool");
  EXPECT_EQ(graph->nodes()[2].name, "pool_2");
}

TEST(OnnxReader, UpgradesOldOpsets) {
  onnx::ModelProto model = small_model();
  model.mutable_opset_import(0)->set_version(9);
  auto& softmax = *model.mutable_graph()->mutable_node(5);
  softmax.clear_attribute();  // the default of axis was 1, here also the last
  softmax.set_input(0, "dropped");
  auto& dropout = *model.mutable_graph()->add_node();
  dropout.set_op_type("Dropout");
  dropout.add_input("logits");
  dropout.add_output("dropped");
  dropout.add_output("mask");  // which nobody reads
  auto& ratio = *dropout.add_attribute();
  ratio.set_name("ratio");
  ratio.set_type(onnx::AttributeProto::FLOAT);
  ratio.set_f(0.25f);
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes()[5].op, "Dropout");
  EXPECT_EQ(graph->nodes()[5].outputs, std::vector<std::string>{"dropped"});
  EXPECT_EQ(graph->initializers().at(graph->nodes()[5].inputs[1]).as<float>()[0], 0.25f);
  EXPECT_EQ(graph->nodes()[6].int_or("axis", -1), 1);
  EXPECT_TRUE(parse_onnx(encode_onnx(*graph)).ok());
}

struct Refused {
  const char* name;
  std::function<void(onnx::ModelProto&)> change;
  Code code;
  const char* message;
};

class OnnxReaderRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(OnnxReaderRefuses, WithCodeAndReason) {
  onnx::ModelProto model = small_model();
  GetParam().change(model);
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), GetParam().code) << graph.error().message;
  EXPECT_NE(graph.error().message.find(GetParam().message), std::string::npos) << graph.error().message;
}

using Model = onnx::ModelProto;

const Refused kRefused[] = {
    {"NewOpset", [](Model& m) { m.mutable_opset_import(0)->set_version(18); }, Code::unimplemented,
     "opset 18, supported are 7 to 17"},
    {"OldOpset", [](Model& m) { m.mutable_opset_import(0)->set_version(6); }, Code::unimplemented, "opset 6"},
    {"NoOpset", [](Model& m) { m.clear_opset_import(); }, Code::data_loss, "no opset"},
    {"NewIr", [](Model& m) { m.set_ir_version(99); }, Code::unimplemented, "IR version 99"},
    {"NoGraph", [](Model& m) { m.clear_graph(); }, Code::data_loss, "no graph"},
    {"OtherDomain", [](Model& m) { m.mutable_graph()->mutable_node(1)->set_domain("com.microsoft"); },
     Code::unimplemented, "node 'relu': operator 'Relu' of domain 'com.microsoft'"},
    {"OtherOperator", [](Model& m) { m.mutable_graph()->mutable_node(1)->set_op_type("Einsum"); }, Code::unimplemented,
     "node 'relu': operator 'Einsum' is not supported"},
    {"ExternalData",
     [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL); },
     Code::unimplemented, "external data"},
    {"HalfPrecision",
     [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::FLOAT16); },
     Code::unimplemented, "initializer 'conv.bias': element type FLOAT16"},
    {"ShortTensor", [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_raw_data("1234"); }, Code::data_loss,
     "shape [4] needs 4 elements, found 1"},
    {"RaggedTensor", [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_raw_data("12345"); },
     Code::data_loss, "5 bytes of data are no whole number of f32"},
    {"HugeTensor",
     [](Model& m) {
       m.mutable_graph()->mutable_initializer(0)->set_dims(0, std::numeric_limits<std::int64_t>::max());
       m.mutable_graph()->mutable_initializer(0)->add_dims(8);
     },
     Code::data_loss, "impossible shape"},
    {"NegativeDimension", [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_dims(0, -4); }, Code::data_loss,
     "impossible shape"},
    {"DoubleInitializer",
     [](Model& m) { *m.mutable_graph()->add_initializer() = onnx::TensorProto(m.graph().initializer(0)); },
     Code::invalid_argument, "initializer 'conv.bias' is defined twice"},
    {"SubGraphAttribute",
     [](Model& m) { m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_type(onnx::AttributeProto::GRAPH); },
     Code::unimplemented, "has type GRAPH"},
    {"UntypedAttribute", [](Model& m) { m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type(); },
     Code::data_loss, "node 'conv': attribute 'auto_pad': has no type"},
    {"AttributeTwice",
     [](Model& m) { *m.mutable_graph()->mutable_node(5)->add_attribute() = integer_attribute("axis", 1); },
     Code::invalid_argument, "attribute 'axis' is given twice"},
    {"OpenWidth",
     [](Model& m) {
       m.mutable_graph()
           ->mutable_input(0)
           ->mutable_type()
           ->mutable_tensor_type()
           ->mutable_shape()
           ->mutable_dim(3)
           ->set_dim_param("width");
     },
     Code::unimplemented, "input 'x': dimension 3 ('width') has no fixed size"},
    {"UnknownRank",
     [](Model& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape(); },
     Code::unimplemented, "not a tensor of known rank"},
    {"SecondOutputInUse",
     [](Model& m) {
       m.mutable_graph()->mutable_node(1)->add_output("indices");
       m.mutable_graph()->add_output()->set_name("indices");
     },
     Code::unimplemented, "node 'relu' (Relu): output 1 ('indices')"},
    {"StrangeConstant",
     [](Model& m) {
       m.mutable_graph()->mutable_node(1)->set_op_type("Constant");
       *m.mutable_graph()->mutable_node(1)->add_attribute() = integer_attribute("sparse", 1);
     },
     Code::unimplemented, "(Constant)"},
};

INSTANTIATE_TEST_SUITE_P(Cases, OnnxReaderRefuses, ::testing::ValuesIn(kRefused),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mangrove
