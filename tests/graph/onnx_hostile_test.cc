// Bytes that no writer of models made: truncated, and with bits flipped. Worth most under AddressSanitizer.
#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"
#include "tests/paths.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx.pb.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

std::string hostile_model() {
  return encode_onnx(Graph::create(testing::small_network()).value());
}

// What is read must be usable: every query works and the graph can be written and cut.
void use(const Graph& graph) {
  EXPECT_GE(graph.parameter_elements(), 0);
  for (const Node& node : graph.nodes()) EXPECT_GE(node_cost(graph, node, 2).flops, 0);
  EXPECT_TRUE(parse_onnx(encode_onnx(graph)).ok());
  if (graph.nodes().size() > 1) static_cast<void>(graph.slice(0, 1).ok());
}

TEST(OnnxHostile, EveryTruncationIsAnErrorOrLosesMetadataOnly) {
  const std::string whole = hostile_model();
  const Graph graph = parse_onnx(whole).value();
  int read = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto parsed = parse_onnx(std::string_view(whole).substr(0, length));
    if (!parsed.ok()) continue;
    ++read;  // the cut fell between two fields at the end, where the metadata is
    EXPECT_EQ(parsed->nodes().size(), graph.nodes().size()) << length;
    EXPECT_EQ(parsed->parameter_elements(), graph.parameter_elements()) << length;
    EXPECT_LT(parsed->metadata().size(), graph.metadata().size()) << length;
  }
  EXPECT_LE(read, 2);
}

onnx::ModelProto small_proto() {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(hostile_model()));
  return model;
}

TEST(OnnxHostile, GraphsHaveAnEnd) {
  onnx::ModelProto model = small_proto();
  for (int i = 0; i <= 100'000; ++i) model.mutable_graph()->add_node()->set_op_type("Relu");
  const auto graph = parse_onnx(model.SerializeAsString());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::resource_exhausted);
  EXPECT_NE(graph.error().message.find("nodes, the most is 100000"), std::string::npos) << graph.error().message;
}

TEST(OnnxHostile, ShapesHaveAnEnd) {
  onnx::ModelProto with_input = small_proto(), with_tensor = small_proto();
  auto& shape = *with_input.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < 100'000; ++i) shape.add_dim()->set_dim_value(1);
  for (int i = 0; i < 100'000; ++i) with_tensor.mutable_graph()->mutable_initializer(0)->add_dims(1);
  for (const onnx::ModelProto& model : {with_input, with_tensor}) {
    const auto graph = parse_onnx(model.SerializeAsString());
    ASSERT_FALSE(graph.ok());
    EXPECT_NE(graph.error().message.find("dimensions, the most is 64"), std::string::npos)
        << graph.error().message.substr(0, 200);
    EXPECT_LT(graph.error().message.size(), 300u);
  }
}

TEST(OnnxHostile, FieldsInFieldsHaveAnEnd) {
  const std::string groups(1'000'000, '\x7b');  // each begins a group, none ends
  EXPECT_EQ(parse_onnx(groups).code(), Code::data_loss);
  EXPECT_EQ(parse_onnx(hostile_model() + groups).code(), Code::data_loss);
}

class OnnxFlips : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(OnnxFlips, NeverCrash) {
  const std::string whole = hostile_model();
  Random random(GetParam());
  for (int trial = 0; trial < 400; ++trial) {
    std::string bytes = whole;
    const std::uint64_t flips = 1 + random.below(4);
    for (std::uint64_t i = 0; i < flips; ++i) {
      // Weights are most of the file; half of the flips go to the structure before them.
      const std::size_t bound = random.below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 500);
      bytes[random.below(bound)] = static_cast<char>(random.below(256));
    }
    const auto parsed = parse_onnx(bytes);
    if (parsed.ok()) use(*parsed);
  }
}

// Files of PyTorch, with old opsets and computations of shapes to get wrong.
TEST(OnnxHostile, FlipsInExportedFilesNeverCrash) {
  Random random(11);
  for (const auto& entry : fs::directory_iterator(testing::repository_path("tests/data/onnx"))) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().string());
    const std::string whole = read_file(entry.path()).value();
    for (int trial = 0; trial < 150; ++trial) {
      std::string bytes = whole;
      for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      }
      const auto parsed = parse_onnx(bytes);
      if (parsed.ok()) use(*parsed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OnnxFlips, ::testing::Range<std::uint64_t>(1, 11));

TEST(OnnxHostile, RandomBytesAreAnError) {
  Random random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes(random.below(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    EXPECT_FALSE(parse_onnx(bytes).ok());
    static_cast<void>(parse_onnx_tensor(bytes).ok());
  }
}

}  // namespace
}  // namespace mangrove
