#include "mangrove/compress/coded_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "tests/compress/networks.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {
namespace {

Graph small_network() {
  return NetworkWriter({kBatch, 6})
      .weights("w1", {8, 6})
      .weights("b1", {8})
      .weights("w2", {3, 8})
      .node("Gemm", "h", {"x", "w1", "b1"}, {{"transB", std::int64_t{1}}})
      .node("Relu", "r", {"h"})
      .node("Gemm", "y", {"r", "w2"}, {{"transB", std::int64_t{1}}})
      .finish({"y"});
}

std::string coded_bytes(const Graph& graph) {
  const auto coded = encode_model(graph);
  EXPECT_TRUE(coded.ok()) << coded.error().message;
  return coded->bytes;
}

class CodedZooModel : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(CodedModel, CodedZooModel,
                         ::testing::Values("mlp-300-100", "lenet", "resnet-8", "mobilenetv2-0.5", "branchy-lenet"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST_P(CodedZooModel, ComesBackBitForBit) {
  zoo::ModelOptions options;
  options.sample_shape = {3, 32, 32};
  const Graph graph = zoo::build_model(GetParam(), options).value();
  const auto decoded = parse_model(coded_bytes(graph));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(encode_onnx(*decoded), encode_onnx(graph));
}

TEST(CodedModel, TellsWhatEachParameterCame) {
  const Graph graph = small_network();
  const auto coded = encode_model(graph);
  ASSERT_TRUE(coded.ok());
  ASSERT_EQ(coded->parameters.size(), 3u);
  Bytes bytes = 0;
  for (const CodedParameter& parameter : coded->parameters) {
    EXPECT_EQ(parameter.elements, graph.value(parameter.name).shape.elements());
    EXPECT_EQ(parameter.kept, parameter.elements);
    bytes += parameter.bytes;
  }
  EXPECT_LT(bytes, static_cast<Bytes>(coded->bytes.size()));
}

TEST(CodedModel, IsKnownByItsFirstBytes) {
  EXPECT_TRUE(is_coded_model(coded_bytes(small_network())));
  EXPECT_FALSE(is_coded_model(encode_onnx(small_network())));
  EXPECT_FALSE(is_coded_model("MG"));
}

TEST(CodedModel, EveryChangedByteAndEveryCutIsNoticed) {
  const std::string bytes = coded_bytes(small_network());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(parse_model(changed).code(), Code::data_loss) << at;
    EXPECT_EQ(parse_model(bytes.substr(0, at)).code(), Code::data_loss) << at;
  }
}

TEST(CodedModel, ContentWithoutAChecksumIsAnErrorOrANetworkOfTheSameShapes) {
  const Graph graph = small_network();
  const std::string bytes = coded_bytes(graph);
  const std::string content = bytes.substr(0, bytes.size() - 4);
  ASSERT_TRUE(parse_model_content(content).ok());
  int errors = 0;
  for (std::size_t at = 0; at < content.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto decoded = parse_model_content(changed);
      if (!decoded.ok()) ++errors;
      if (decoded.ok()) {
        EXPECT_EQ(decoded->parameter_elements(), graph.parameter_elements()) << at;
      }
    }
    EXPECT_FALSE(parse_model_content(content.substr(0, at)).ok()) << at;
  }
  EXPECT_GT(errors, 0);
}

TEST(CodedModel, HoldsNoParametersOfDoubles) {
  GraphParts parts;
  parts.name = "doubles";
  parts.inputs = {{"x", {DType::f64, {kBatch, 2}}}};
  parts.outputs = {"y"};
  parts.nodes = {{.name = "y", .op = "MatMul", .attributes = {}, .inputs = {"x", "w"}, .outputs = {"y"}}};
  parts.initializers.emplace("w", Tensor::of<double>({2, 2}, {1, 2, 3, 4}));
  const auto coded = encode_model(Graph::create(std::move(parts)).value());
  EXPECT_EQ(coded.code(), Code::unimplemented);
  EXPECT_NE(coded.error().message.find("'w'"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::compress
