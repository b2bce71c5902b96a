#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx.pb.h"

namespace mangrove {
namespace {

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

onnx::TensorShapeProto& input_shape(onnx::ModelProto& model) {
  return *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
}

TEST(OnnxReader, OpenDimensionsTakeTheGivenShape) {
  onnx::ModelProto model = small_model();
  input_shape(model).mutable_dim(2)->set_dim_param("height");
  input_shape(model).mutable_dim(3)->set_dim_param("width");
  const std::string bytes = model.SerializeAsString();
  EXPECT_FALSE(parse_onnx(bytes).ok());
  const auto graph = parse_onnx(bytes, {.input_shapes = {{"x", {kBatch, 2, 8, 8}}}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("x").shape, (Shape{kBatch, 2, 8, 8}));
  const auto fixed = parse_onnx(bytes, {.input_shapes = {{"x", {5, 2, 8, 8}}}});
  ASSERT_TRUE(fixed.ok()) << fixed.error().message;
  EXPECT_FALSE(fixed->value("x").shape.is_symbolic());
}

TEST(OnnxReader, GivenShapesMustFit) {
  const std::string bytes = small_model().SerializeAsString();
  const auto unknown = parse_onnx(bytes, {.input_shapes = {{"xx", {1, 2, 8, 8}}}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_NE(unknown.error().message.find("input 'xx', which the model does not have"), std::string::npos);
  const auto rank = parse_onnx(bytes, {.input_shapes = {{"x", {1, 2, 8}}}});
  ASSERT_FALSE(rank.ok());
  EXPECT_NE(rank.error().message.find("has rank 3, expected rank 4"), std::string::npos) << rank.error().message;
  const auto size = parse_onnx(bytes, {.input_shapes = {{"x", {1, 3, 8, 8}}}});
  ASSERT_FALSE(size.ok());
  EXPECT_NE(size.error().message.find("has 3 in dimension 1, the model has 2"), std::string::npos)
      << size.error().message;
}

TEST(OnnxReader, TheBatchIsCalledAsInTheInputsBefore) {
  onnx::ModelProto model = small_model();
  input_shape(model).mutable_dim(0)->set_dim_param("batch");
  auto& state = *model.mutable_graph()->add_input();
  state.set_name("state");
  state.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  auto& shape = *state.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.add_dim()->set_dim_param("layers");
  shape.add_dim()->set_dim_param("batch");
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_FALSE(graph.ok()) << "one open dimension too many";
  EXPECT_NE(graph.error().message.find("input 'state': dimension 0 ('layers') has no fixed size"), std::string::npos)
      << graph.error().message;
}

struct RefusedModel {
  const char* name;
  std::function<void(onnx::ModelProto&)> change;
  Code code;
  const char* message;
};

class OnnxReaderRefuses : public ::testing::TestWithParam<RefusedModel> {};

TEST_P(OnnxReaderRefuses, WithCodeAndReason) {
  onnx::ModelProto model = small_model();
  GetParam().change(model);
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), GetParam().code) << graph.error().message;
  EXPECT_NE(graph.error().message.find(GetParam().message), std::string::npos) << graph.error().message;
}

using Model = onnx::ModelProto;

const RefusedModel kRefused[] = {
    {"NewOpset", [](Model& m) { m.mutable_opset_import(0)->set_version(22); }, Code::unimplemented,
     "opset 22, supported are 7 to 21"},
    {"OldOpset", [](Model& m) { m.mutable_opset_import(0)->set_version(6); }, Code::unimplemented, "opset 6"},
    {"NoOpset", [](Model& m) { m.clear_opset_import(); }, Code::data_loss, "no opset"},
    {"NewIr", [](Model& m) { m.set_ir_version(99); }, Code::unimplemented, "IR version 99"},
    {"NoGraph", [](Model& m) { m.clear_graph(); }, Code::data_loss, "no graph"},
    {"OtherDomain", [](Model& m) { m.mutable_graph()->mutable_node(1)->set_domain("com.microsoft"); },
     Code::unimplemented, "node 'relu': operator 'Relu' of domain 'com.microsoft'"},
    {"OtherOperator", [](Model& m) { m.mutable_graph()->mutable_node(1)->set_op_type("Unique"); }, Code::unimplemented,
     "node 'relu': operator 'Unique' is not supported"},
    {"ExternalData",
     [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL); },
     Code::unimplemented, "external data"},
    {"SixteenBitIntegers",
     [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::INT16); },
     Code::unimplemented, "initializer 'conv.bias': element type INT16"},
    {"LongHalfPrecision",
     [](Model& m) { m.mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::FLOAT16); },
     Code::data_loss, "shape [4] needs 4 elements, found 8"},
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
    {"ControlFlow",
     [](Model& m) {
       m.mutable_graph()->mutable_node(1)->set_op_type("If");
       m.mutable_graph()->mutable_node(1)->add_attribute()->set_type(onnx::AttributeProto::GRAPH);
     },
     Code::unimplemented, "node 'relu': operator 'If' is not supported: graphs have no control flow"},
    {"Sequences", [](Model& m) { m.mutable_graph()->mutable_node(1)->set_op_type("SequenceConstruct"); },
     Code::unimplemented, "operator 'SequenceConstruct' is not supported: graphs have no sequences"},
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
     Code::invalid_argument, "(Constant)"},
};

INSTANTIATE_TEST_SUITE_P(Cases, OnnxReaderRefuses, ::testing::ValuesIn(kRefused),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace mangrove
