#include "mangrove/graph/tile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graph/ints.h"
#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

using testing::ints;
using testing::make_node;
using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

Tensor zeros(Shape shape) {
  return Tensor(DType::f32, std::move(shape));
}

std::map<std::string, Attribute> padded(std::int64_t pad) {
  return {{"pads", Ints{pad, pad, pad, pad}}};
}

/// Input "x" [N, 4, 8, 8]; constants: "w" [4, 4, 3, 3], "b", "scale", "shift", "mean", "variance" [4].
GraphParts with_constants(std::vector<Node> nodes, std::vector<std::string> outputs) {
  GraphParts parts;
  parts.name = "net";
  parts.inputs = {{"x", {DType::f32, Shape{kBatch, 4, 8, 8}}}};
  parts.outputs = std::move(outputs);
  parts.initializers["w"] = zeros({4, 4, 3, 3});
  for (const char* name : {"b", "scale", "shift", "mean", "variance"}) parts.initializers[name] = zeros({4});
  parts.nodes = std::move(nodes);
  return parts;
}

Graph network(std::vector<Node> nodes, std::vector<std::string> outputs) {
  return Graph::create(with_constants(std::move(nodes), std::move(outputs))).value();
}

/// Convolution, normalization, activation, pool, flatten, dense layer.
Graph classifier() {
  GraphParts parts = with_constants(
      {make_node("conv", "Conv", {"x", "w", "b"}, {"c"}, padded(1)),
       make_node("norm", "BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"n"}),
       make_node("relu", "Relu", {"n"}, {"r"}),
       make_node("pool", "MaxPool", {"r"}, {"p"}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
       make_node("flat", "Flatten", {"p"}, {"f"}), make_node("fc", "Gemm", {"f", "dense"}, {"y"})},
      {"y"});
  parts.initializers["dense"] = zeros({64, 10});
  return Graph::create(std::move(parts)).value();
}

/// x -> Conv -> Relu -> Conv, and x added to it -> Relu.
Graph residual() {
  return network({make_node("conv1", "Conv", {"x", "w"}, {"a"}, padded(1)), make_node("relu1", "Relu", {"a"}, {"b1"}),
                  make_node("conv2", "Conv", {"b1", "w"}, {"c"}, padded(1)), make_node("add", "Add", {"c", "x"}, {"d"}),
                  make_node("relu2", "Relu", {"d"}, {"y"})},
                 {"y"});
}

std::vector<std::pair<std::size_t, std::size_t>> ranges_of(const std::vector<TileSegment>& segments) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  ranges.reserve(segments.size());
  for (const TileSegment& segment : segments) ranges.emplace_back(segment.first, segment.last);
  return ranges;
}

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

TEST(TileSegments, AreWhatKernelsComputeTogether) {
  const std::vector<TileSegment> segments = Tiling(classifier()).segments();
  EXPECT_EQ(ranges_of(segments), (Ranges{{0, 3}, {3, 4}, {4, 5}, {5, 6}}));
  for (std::size_t i = 0; i < segments.size(); ++i) EXPECT_EQ(segments[i].can_be_tiled, i < 2) << i;
  EXPECT_EQ(segments[0].input, (Region{0, 0, 8, 8}));
  EXPECT_EQ(segments[1].input, (Region{0, 0, 8, 8}));
  EXPECT_EQ(segments[1].output, (Region{0, 0, 4, 4}));
}

TEST(TileSegments, HoldWhatOneValueDoesNotCross) {
  EXPECT_EQ(ranges_of(Tiling(residual()).segments()), (Ranges{{0, 5}}));
  GraphParts exits = residual().parts();
  exits.nodes.insert(exits.nodes.begin(), make_node("first", "Neg", {"x"}, {"z"}));
  exits.nodes[1].inputs[0] = "z";
  exits.nodes[4].inputs[1] = "z";
  EXPECT_EQ(ranges_of(Tiling(Graph::create(exits).value()).segments()), (Ranges{{0, 1}, {1, 6}}));
  exits.outputs = {"z", "y"};  // "z" crosses all cuts behind "first", and two values are the last one's
  const std::vector<TileSegment> segments = Tiling(Graph::create(exits).value()).segments();
  EXPECT_EQ(ranges_of(segments), (Ranges{{0, 1}, {1, 6}}));
  EXPECT_TRUE(segments[0].can_be_tiled);
  EXPECT_FALSE(segments[1].can_be_tiled);
}

TEST(TileSegments, HoldMapsOfOtherRanks) {
  GraphParts parts =
      with_constants({make_node("conv", "Conv", {"x", "w"}, {"c"}), make_node("apart", "Reshape", {"c", "five"}, {"r"}),
                      make_node("turn", "Transpose", {"r"}, {"t"}, {{"perm", Ints{0, 2, 1, 3, 4}}}),
                      make_node("together", "Reshape", {"t", "four"}, {"y"})},
                     {"y"});
  parts.initializers["five"] = ints({0, 2, 2, 6, -1});
  parts.initializers["four"] = ints({-1, 4, 6, 6});
  const Graph graph = Graph::create(std::move(parts)).value();
  EXPECT_EQ(ranges_of(Tiling(graph).segments()), (Ranges{{0, 1}, {1, 4}}));
  const TileGraph tile = Tiling(graph).tile(1, 4, {0, 0, 2, 3}).value();
  EXPECT_EQ(tile.graph.value("r").shape, (Shape{kBatch, 2, 2, 2, 3}));
  EXPECT_EQ(tile.graph.value("y").shape, (Shape{kBatch, 4, 2, 3}));
}

TEST(TileSegments, OfSeveralInputsAreNone) {
  GraphParts parts = with_constants({make_node("add", "Add", {"x", "z"}, {"y"})}, {"y"});
  parts.inputs.emplace_back("z", ValueInfo{DType::f32, Shape{kBatch, 4, 8, 8}});
  EXPECT_TRUE(Tiling(Graph::create(std::move(parts)).value()).segments().empty());
}

TEST(TileSegments, OfOtherInputsCannotBeTiled) {
  for (const ValueInfo& input : {ValueInfo{DType::f64, Shape{kBatch, 4, 8, 8}},
                                 {DType::f32, Shape{kBatch, 8, 8}},
                                 {DType::f32, Shape{4, kBatch, 8, 8}},
                                 {DType::f32, Shape{4, 8, 8, kBatch}}}) {
    GraphParts parts = with_constants({make_node("relu", "Relu", {"x"}, {"y"})}, {"y"});
    parts.inputs[0].second = input;
    const std::vector<TileSegment> segments = Tiling(Graph::create(std::move(parts)).value()).segments();
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_FALSE(segments[0].can_be_tiled) << to_string(input.shape);
  }
}

TEST(TileCost, CountsTheHalo) {
  const Graph graph = classifier();
  const TileCost corner = Tiling(graph).cost(0, 4, {0, 0, 1, 2}).value();
  EXPECT_EQ(corner.input, (Region{0, 0, 3, 5}));  // of [0, 2) x [0, 4) behind the activation
  ASSERT_EQ(corner.shares.size(), 4u);
  for (const double share : corner.shares) EXPECT_DOUBLE_EQ(share, 2.0 / 16);
  EXPECT_EQ(Tiling(graph).cost(0, 4, {1, 1, 3, 3}).value().input, (Region{1, 1, 7, 7}));
  EXPECT_EQ(Tiling(graph).cost(3, 4, {1, 1, 3, 3}).value().input, (Region{2, 2, 6, 6}));
  EXPECT_EQ(Tiling(graph).cost(0, 4, {0, 0, 4, 4}).value().input, (Region{0, 0, 8, 8}));
}

TEST(TileCost, CountsWhatIsComputedForOthers) {
  const TileCost cost = Tiling(residual()).cost(0, 5, {0, 0, 4, 8}).value();
  EXPECT_EQ(cost.input, (Region{0, 0, 6, 8}));
  EXPECT_EQ(cost.shares, (std::vector<double>{5.0 / 8, 5.0 / 8, 0.5, 0.5, 0.5}));
}

TEST(TileGraph, PadsWhereThereIsNoNeighbour) {
  const Graph graph = classifier();
  const auto pads_of = [&](const Region& output) {
    return Tiling(graph).tile(0, 4, output).value().graph.nodes()[0].ints_or("pads", {});
  };
  EXPECT_EQ(pads_of({0, 0, 1, 2}), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(pads_of({1, 1, 3, 3}), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(pads_of({3, 0, 4, 4}), (Ints{0, 1, 1, 1}));
}

TEST(TileGraph, PadsAsAutoPadAndCeilModeDo) {
  const Graph graph = network(
      {make_node("conv", "Conv", {"x", "w"}, {"c"}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 1}}}),
       make_node("pool", "MaxPool", {"c"}, {"y"},
                 {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}})},
      {"y"});
  ASSERT_EQ(graph.value("y").shape, (Shape{kBatch, 4, 2, 4}));  // from 4 x 8: the last windows stick out
  const TileGraph tile = Tiling(graph).tile(0, 2, {1, 3, 2, 4}).value();
  const Node &conv = tile.graph.nodes()[0], &pool = tile.graph.nodes()[1];
  EXPECT_EQ(conv.ints_or("pads", {}), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(pool.ints_or("pads", {}), (Ints{0, 0, 1, 1}));
  EXPECT_FALSE(conv.attributes.contains("auto_pad"));
  EXPECT_FALSE(pool.attributes.contains("ceil_mode"));
  EXPECT_EQ(tile.input, (Region{4, 5, 8, 8}));
}

TEST(TileGraph, KeepsNamesAndSharesWeights) {
  const Graph graph = classifier();
  const TileGraph tile = Tiling(graph).tile(0, 3, {2, 2, 4, 4}).value();
  EXPECT_EQ(tile.graph.inputs()[0].first, "x");
  EXPECT_EQ(tile.graph.inputs()[0].second.shape, (Shape{kBatch, 4, 4, 4}));
  EXPECT_EQ(tile.graph.outputs(), Names{"r"});
  EXPECT_EQ(tile.graph.parameters(), (Names{"w", "b", "scale", "shift"}));
  for (const auto& [name, tensor] : tile.graph.initializers())
    EXPECT_EQ(tensor.data(), graph.initializers().at(name).data()) << name;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(tile.graph.nodes()[i].name, graph.nodes()[i].name);
}

TEST(TileGraph, CutsWhatAReaderDoesNotNeed) {
  const TileGraph tile = Tiling(residual()).tile(0, 5, {0, 0, 4, 8}).value();
  Names names;
  for (const Node& node : tile.graph.nodes()) names.push_back(node.name);
  EXPECT_EQ(names, (Names{"conv1", "relu1", "conv2", "add/crop", "add", "relu2"}));
  EXPECT_EQ(tile.graph.value("add/crop").shape, (Shape{kBatch, 4, 4, 8}));
  EXPECT_EQ(tile.graph.value("y").shape, (Shape{kBatch, 4, 4, 8}));
}

TEST(TileGraph, TakesOtherNamesThanThoseThereAre) {
  GraphParts parts = residual().parts();
  parts.nodes[1].name = "add/crop";
  const TileGraph tile = Tiling(Graph::create(std::move(parts)).value()).tile(0, 5, {0, 0, 4, 8}).value();
  EXPECT_EQ(tile.graph.nodes()[3].name, "add/crop2");
}

TEST(TileGraph, OfAnAverageIsASummand) {
  const Graph graph =
      network({make_node("conv", "Conv", {"x", "w"}, {"c"}, padded(1)),
               make_node("pool", "GlobalAveragePool", {"c"}, {"y"}), make_node("neg", "Neg", {"y"}, {"z"})},
              {"z"});
  const std::vector<TileSegment> segments = Tiling(graph).segments();
  EXPECT_EQ(ranges_of(segments), (Ranges{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(segments[1].join, TileJoin::add);
  EXPECT_EQ(segments[1].output, (Region{0, 0, 8, 8}));
  EXPECT_EQ(Tiling(graph).cost(0, 2, {0, 0, 2, 8}).value().shares, (std::vector<double>{0.25, 0.25}));
  const TileGraph tile = Tiling(graph).tile(0, 2, {0, 0, 2, 8}).value();
  EXPECT_EQ(tile.input, (Region{0, 0, 3, 8}));
  EXPECT_EQ(tile.graph.value("y").shape, (Shape{kBatch, 4, 1, 1}));
  ASSERT_EQ(tile.graph.nodes().back().name, "pool/share");
  EXPECT_EQ(tile.graph.initializers().at("pool/share").as<float>()[0], 0.25f);
  EXPECT_EQ(tile.graph.parameters(), Names{"w"});
  EXPECT_EQ(Tiling(graph).cost(0, 3, {0, 0, 1, 1}).code(), Code::invalid_argument);  // nothing may come behind
}

TEST(TileGraph, CutsConstantsThatHaveAPlane) {
  GraphParts parts = with_constants(
      {make_node("sub", "Sub", {"x", "mean_image"}, {"s"}), make_node("div", "Div", {"s", "per_channel"}, {"y"})},
      {"y"});
  parts.initializers["mean_image"] = zeros({4, 8, 8});
  parts.initializers["per_channel"] = zeros({4, 1, 1});
  const Graph graph = Graph::create(std::move(parts)).value();
  const TileGraph tile = Tiling(graph).tile(0, 2, {1, 2, 4, 4}).value();
  EXPECT_EQ(tile.graph.value(tile.graph.nodes()[0].inputs[1]).shape, (Shape{4, 3, 2}));
  EXPECT_EQ(tile.graph.nodes()[1].inputs[1], "per_channel");
}

TEST(TileGraph, RefusesWhatIsNoTile) {
  const Graph graph = classifier();
  const auto message = [&](std::size_t first, std::size_t last, const Region& region) {
    const auto cost = Tiling(graph).cost(first, last, region);
    const auto tile = Tiling(graph).tile(first, last, region);
    EXPECT_EQ(tile.code(), Code::invalid_argument);
    EXPECT_EQ(cost.error().message, tile.error().message);
    return cost.error().message;
  };
  const std::string none = "are no segments that can be tiled together";
  const Region all{0, 0, 4, 4};
  EXPECT_NE(message(0, 5, all).find("operators [0, 5) of model 'net' " + none), std::string::npos);
  EXPECT_NE(message(1, 4, all).find(none), std::string::npos);
  EXPECT_NE(message(0, 2, all).find(none), std::string::npos);
  EXPECT_NE(message(0, 0, all).find(none), std::string::npos);
  EXPECT_NE(message(0, 40, all).find(none), std::string::npos);
  EXPECT_NE(message(0, 4, {0, 0, 5, 4}).find("rows [0, 5) and columns [0, 4) is empty or not within a plane of 4 x 4"),
            std::string::npos);
  for (const Region& region : {Region{}, Region{1, 1, 1, 4}, Region{-1, 0, 2, 2}, Region{3, 0, 2, 4}})
    EXPECT_NE(message(0, 4, region).find("is empty or not within"), std::string::npos);
}

struct RefusedTile {
  const char* what;
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants = {};
};
void PrintTo(const RefusedTile& refused, std::ostream* out) {
  *out << refused.what;
}

class NoTiles : public ::testing::TestWithParam<RefusedTile> {};

TEST_P(NoTiles, AreThereOf) {
  GraphParts parts = with_constants(GetParam().nodes, {"y"});
  for (const auto& [name, tensor] : GetParam().constants) parts.initializers[name] = tensor;
  const auto graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const std::vector<TileSegment> segments = Tiling(*graph).segments();
  EXPECT_FALSE(std::ranges::all_of(segments, &TileSegment::can_be_tiled));
}

Node alone(const char* op, std::vector<std::string> inputs, std::map<std::string, Attribute> attributes = {}) {
  return make_node("node", op, std::move(inputs), {"y"}, std::move(attributes));
}

Tensor floats(const std::vector<float>& elements) {
  return Tensor::of<float>(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

INSTANTIATE_TEST_SUITE_P(
    Of, NoTiles,
    ::testing::Values(
        RefusedTile{"softmax_over_columns", {alone("Softmax", {"x"})}},
        RefusedTile{"largest_of_all", {alone("GlobalMaxPool", {"x"})}},
        RefusedTile{"average_of_rows", {alone("ReduceMean", {"x"}, {{"axes", Ints{2}}})}},
        RefusedTile{"average_without_dimensions",
                    {alone("ReduceMean", {"x"}, {{"axes", Ints{2, 3}}, {"keepdims", std::int64_t{0}}})}},
        RefusedTile{"average_before_activation",
                    {make_node("pool", "GlobalAveragePool", {"x"}, {"p"}), alone("Relu", {"p"})}},
        RefusedTile{"gate_of_average",
                    {make_node("pool", "GlobalAveragePool", {"x"}, {"p"}), alone("Mul", {"x", "p"})}},
        RefusedTile{"instance_normalization", {alone("InstanceNormalization", {"x", "b", "b"})}},
        RefusedTile{"turned_plane", {alone("Transpose", {"x"}, {{"perm", Ints{0, 1, 3, 2}}})}},
        RefusedTile{"joined_rows", {alone("Concat", {"x", "x"}, {{"axis", std::int64_t{2}}})}},
        RefusedTile{
            "gathered_columns", {alone("Gather", {"x", "i"}, {{"axis", std::int64_t{3}}})}, {{"i", ints({0, 1})}}},
        RefusedTile{"learned_plane", {alone("Add", {"x", "plane"})}, {{"plane", zeros({8, 8})}}},
        RefusedTile{"learned_columns", {alone("PRelu", {"x", "slope"})}, {{"slope", zeros({8})}}},
        RefusedTile{"shared_learned_plane",
                    {make_node("sub", "Sub", {"x", "plane"}, {"s"}), alone("Mul", {"s", "plane"})},
                    {{"plane", zeros({8, 8})}}},
        RefusedTile{"mirrored_padding",
                    {alone("Pad", {"x", "pads"}, {{"mode", std::string("reflect")}})},
                    {{"pads", ints({0, 0, 1, 0, 0, 0, 0, 0})}}},
        RefusedTile{"reversed_rows",
                    {alone("Slice", {"x", "starts", "ends", "axes", "steps"})},
                    {{"starts", ints({-1})}, {"ends", ints({-9})}, {"axes", ints({2})}, {"steps", ints({-1})}}},
        RefusedTile{"average_rounded_up",
                    {alone("AveragePool", {"x"},
                           {{"kernel_shape", Ints{3, 3}},
                            {"strides", Ints{2, 2}},
                            {"ceil_mode", std::int64_t{1}},
                            {"count_include_pad", std::int64_t{1}}})}},
        RefusedTile{"windows_over_padding_only",
                    {alone("Conv", {"x", "w"}, {{"pads", Ints{5, 0, 0, 0}}, {"strides", Ints{20, 1}}})}},
        RefusedTile{"one_and_a_half", {alone("Resize", {"x", "", "scales"})}, {{"scales", floats({1, 1, 1.5f, 1})}}},
        RefusedTile{"nearly_two", {alone("Resize", {"x", "", "scales"})}, {{"scales", floats({1, 1, 2.01f, 1})}}},
        RefusedTile{"half", {alone("Resize", {"x", "", "scales"})}, {{"scales", floats({1, 1, 0.5f, 0.5f})}}},
        RefusedTile{
            "aligned_corners",
            {alone("Resize", {"x", "", "scales"}, {{"coordinate_transformation_mode", std::string("align_corners")}})},
            {{"scales", floats({1, 1, 2, 1})}}},
        RefusedTile{"resized_channels", {alone("Resize", {"x", "", "scales"})}, {{"scales", floats({1, 2, 2, 2})}}},
        RefusedTile{"weights_that_are_computed", {make_node("twice", "Neg", {"w"}, {"v"}), alone("Conv", {"x", "v"})}},
        RefusedTile{"scales_by_column",
                    {make_node("q", "QuantizeLinear", {"x", "s"}, {"q"}, {{"axis", std::int64_t{3}}}),
                     alone("DequantizeLinear", {"q", "s"}, {{"axis", std::int64_t{3}}})},
                    {{"s", zeros({8})}}},
        RefusedTile{
            "channels_as_rows",
            {make_node("first", "Gather", {"x", "zero"}, {"g"}, {{"axis", std::int64_t{3}}}),
             make_node("lrn", "LRN", {"g"}, {"l"}, {{"size", std::int64_t{3}}}), alone("Unsqueeze", {"l", "axes"})},
            {{"zero", Tensor::of<std::int64_t>(Shape{}, {0})}, {"axes", ints({1})}}},
        RefusedTile{"normalized_rows",
                    {make_node("channels_last", "Transpose", {"x"}, {"t"}, {{"perm", Ints{0, 3, 1, 2}}}),
                     make_node("lrn", "LRN", {"t"}, {"l"}, {{"size", std::int64_t{3}}}),
                     alone("Transpose", {"l"}, {{"perm", Ints{0, 2, 3, 1}}})}}),
    [](const auto& tested) { return tested.param.what; });

TEST(NoTiles, AreThereOfPositionsOfMaxima) {
  const Graph graph = network(
      {make_node("pool", "MaxPool", {"x"}, {"m", "at"}, {{"kernel_shape", Ints{2, 2}}}),
       make_node("cast", "Cast", {"at"}, {"c"}, {{"to", std::int64_t{1}}}), make_node("add", "Add", {"m", "c"}, {"y"})},
      {"y"});
  EXPECT_FALSE(Tiling(graph).segments()[0].can_be_tiled);
}

TEST(TileGraph, CanBeSavedAndReadAgain) {
  const TileGraph tile = Tiling(residual()).tile(0, 5, {2, 2, 5, 5}).value();
  const auto again = parse_onnx(encode_onnx(tile.graph));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->value("y"), tile.graph.value("y"));
}

}  // namespace
}  // namespace mangrove
