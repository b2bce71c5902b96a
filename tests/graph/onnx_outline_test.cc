// The outline of a network: everything but its larger weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx.pb.h"

namespace mangrove {
namespace {

constexpr Bytes kLeast = 4096;

/// Three fully connected layers, each with larger weights and a small bias.
Graph three_layers() {
  GraphParts parts;
  parts.name = "layers";
  parts.inputs = {{"v0", {DType::f32, Shape{kBatch, 64}}}};
  parts.outputs = {"v3"};
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    Tensor weights(DType::f32, Shape{64, 64}), bias(DType::f32, Shape{64});
    for (Tensor* tensor : {&weights, &bias})
      for (float value = 1; float& element : tensor->as<float>()) element = value += 1;
    parts.initializers["w" + number] = weights;
    parts.initializers["b" + number] = bias;
    parts.nodes.push_back({.name = "fc" + number,
                           .op = "Gemm",
                           .attributes = {},
                           .inputs = {"v" + number, "w" + number, "b" + number},
                           .outputs = {"v" + std::to_string(i + 1)}});
  }
  return Graph::create(std::move(parts)).value();
}

std::string outline_of(const Graph& graph) {
  return encode_onnx_outline(graph, kLeast, [](const Tensor& weights) { return to_string(weights.shape()); });
}

TEST(OnnxOutline, SaysWhereLargerWeightsAreAndHoldsTheOthers) {
  const Graph graph = three_layers();
  const std::string bytes = outline_of(graph);
  EXPECT_LT(bytes.size(), encode_onnx(graph).size() / 10);
  const OnnxOutline outline = parse_onnx_outline(bytes).value();
  ASSERT_EQ(outline.graph.nodes().size(), graph.nodes().size());
  std::size_t elsewhere = 0;
  for (const std::string& name : graph.parameters()) {
    const Tensor& whole = graph.initializers().at(name);
    const Tensor& outlined = outline.graph.initializers().at(name);
    EXPECT_EQ(outlined.shape(), whole.shape());
    if (whole.bytes() >= kLeast) {
      ++elsewhere;
      EXPECT_EQ(outline.locations.at(name), to_string(whole.shape()));
      EXPECT_TRUE(std::ranges::all_of(outlined.as<float>(), [](float value) { return value == 0; }));
    } else {
      EXPECT_FALSE(outline.locations.contains(name));
      EXPECT_TRUE(std::ranges::equal(outlined.as<float>(), whole.as<float>()));
    }
  }
  EXPECT_EQ(outline.locations.size(), elsewhere);
  EXPECT_EQ(elsewhere, 3u);
}

TEST(OnnxOutline, IsNoNetwork) {
  const auto network = parse_onnx(outline_of(three_layers()));
  ASSERT_FALSE(network.ok());
  EXPECT_EQ(network.code(), Code::unimplemented);
  EXPECT_NE(network.error().message.find("external data"), std::string::npos) << network.error().message;
}

/// The outline with a change.
Result<OnnxOutline> changed(const std::function<void(onnx::GraphProto& graph)>& change) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(outline_of(three_layers())));
  change(*model.mutable_graph());
  return parse_onnx_outline(model.SerializeAsString());
}

onnx::TensorProto& first_external(onnx::GraphProto& graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer())
    if (tensor.external_data_size() > 0) return tensor;
  ADD_FAILURE() << "nothing is elsewhere";
  return *graph.add_initializer();
}

TEST(OnnxOutline, HostileOnesAreRefused) {
  EXPECT_TRUE(changed([](onnx::GraphProto&) {}).ok());
  EXPECT_EQ(changed([](auto& graph) { first_external(graph).clear_external_data(); }).code(), Code::data_loss);
  EXPECT_EQ(changed([](auto& graph) { first_external(graph).set_dims(0, -1); }).code(), Code::data_loss);
  EXPECT_EQ(changed([](auto& graph) { first_external(graph).set_dims(0, std::int64_t{1} << 62); }).code(),
            Code::data_loss);
  EXPECT_EQ(changed([](auto& graph) { first_external(graph).set_dims(0, std::int64_t{1} << 30); }).code(),
            Code::resource_exhausted);
  EXPECT_EQ(changed([](auto& graph) {
              onnx::TensorProto unused = first_external(graph);
              unused.set_name(graph.initializer(0).name());
              *graph.add_initializer() = unused;
            }).code(),
            Code::invalid_argument);
  const std::string whole = outline_of(three_layers());
  EXPECT_EQ(parse_onnx_outline("").code(), Code::data_loss);
  for (std::size_t length = 0; length < whole.size(); length += 97) {
    const auto cut = parse_onnx_outline(std::string_view(whole).substr(0, length));
    EXPECT_FALSE(cut.ok()) << length;
  }
}

}  // namespace
}  // namespace mangrove
