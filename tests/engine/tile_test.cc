// What the tiles of a block compute, put together, is what the whole network computes there.
#include "mangrove/graph/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/engine/sample_graphs.h"
#include "tests/engine/tiled_run.h"
#include "tests/graph/ints.h"

#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using testing::ints;
using Ints = std::vector<std::int64_t>;

constexpr double kRounding = 1e-5;

const std::vector<Partition>& partitions() {
  static const std::vector<Partition> all = {
      {{1}, {0.5, 1}}, {{0.5, 1}, {0.5, 1}}, {{0.34, 0.67, 1}, {1}}, {{0.15, 1}, {0.2, 0.9, 1}}, {{1}, {1}}};
  return all;
}

/// The network with statistics of batch normalization that are no zeros and ones.
Graph with_statistics(const Graph& graph) {
  std::map<std::string, Tensor> changed;
  for (const std::string& name : graph.states()) {
    const bool is_variance = name.ends_with("variance");
    changed[name] = uniform_tensor(DType::f32, graph.value(name).shape, changed.size(), is_variance ? 0.5 : -0.5, 1);
  }
  return graph.with_initializers(changed).value();
}

/// Runs block after block, each in tiles, and what cannot be tiled as it is. most: segments of a block.
void expect_tiles_to_be_whole(const Graph& graph, const Partition& partition, std::size_t most,
                              const std::string& backend) {
  const Tiling tiling(graph);
  const std::vector<TileSegment>& segments = tiling.segments();
  Tensor value = uniform_tensor(DType::f32, graph.inputs()[0].second.shape.with_batch(2), 5);
  for (std::size_t i = 0; i < segments.size();) {
    const std::size_t first = segments[i].first;
    std::size_t last = segments[i].last;
    const bool is_block = segments[i].can_be_tiled;
    Region plane = segments[i++].output;
    for (std::size_t count = 1; is_block && count < most && i < segments.size() && segments[i].can_be_tiled; ++count) {
      plane = segments[i].output;
      last = segments[i++].last;
    }
    const Tensor whole = run_graph(graph.slice(first, last).value(), value, backend);
    if (is_block) {
      const Tensor tiles = run_tiles(graph, tiling, first, last, parts_of(plane, partition), value, backend);
      ASSERT_LE(difference(whole, tiles), kRounding) << graph.nodes()[first].name << ", operators up to " << last;
      value = tiles;
    } else {
      value = whole;
    }
  }
}

bool is_of_dense_layers(const Node& node) {
  constexpr std::string_view kOperators[] = {"Gemm", "Flatten", "Reshape", "Relu", "Tanh", "Dropout"};
  return std::ranges::count(kOperators, node.op) > 0;
}

struct Network {
  const char* name;
  Shape sample;
};
void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

class TiledNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(TiledNetwork, ComputesTheSame) {
  const Graph graph = with_statistics(
      zoo::build_model(GetParam().name, {.sample_shape = GetParam().sample, .classes = 10, .seed = 1}).value());
  const std::vector<TileSegment> segments = Tiling(graph).segments();
  for (const TileSegment& segment : segments) {
    for (std::size_t i = segment.first; i < segment.last && !segment.can_be_tiled; ++i)
      EXPECT_TRUE(is_of_dense_layers(graph.nodes()[i])) << graph.nodes()[i].name;
  }
  const std::size_t lengths[] = {1, 4, segments.size()};
  for (std::size_t i = 0; i < partitions().size(); ++i) {
    expect_tiles_to_be_whole(graph, partitions()[i], lengths[i % std::size(lengths)], "");
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, TiledNetwork,
    ::testing::Values(Network{"lenet", {1, 28, 28}}, Network{"alexnet", {3, 99, 99}}, Network{"nin", {3, 32, 32}},
                      Network{"vgg-11", {3, 32, 32}}, Network{"resnet-20", {3, 32, 32}},
                      Network{"resnet-18", {3, 64, 48}}, Network{"mobilenet-0.5", {3, 64, 64}},
                      Network{"mobilenetv2-0.5", {3, 64, 64}}, Network{"shufflenet-v1-g3", {3, 64, 64}},
                      Network{"shufflenet-v2-0.5", {3, 64, 64}}, Network{"squeezenet-1.1", {3, 64, 64}},
                      Network{"densenet-bc-40-12", {3, 32, 32}}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
      return name;
    });

/// In f32, with input "x" [N, 4, 9, 8].
GraphSketch sketch_of_map() {
  GraphSketch sketch(DType::f32);
  sketch.input("x", Shape{kBatch, 4, 9, 8});
  return sketch;
}

/// Of all operators as one block.
void expect_all_in_tiles(const Graph& graph) {
  const Tiling tiling(graph);
  const std::size_t last = graph.nodes().size();
  for (const TileSegment& segment : tiling.segments())
    ASSERT_TRUE(segment.can_be_tiled) << graph.nodes()[segment.first].name;
  const Tensor input = uniform_tensor(DType::f32, graph.inputs()[0].second.shape.with_batch(2), 5);
  const Tensor whole = run_graph(graph, input);
  for (const Partition& partition : partitions()) {
    const auto tiles = parts_of(tiling.segments().back().output, partition);
    EXPECT_LE(difference(whole, run_tiles(graph, tiling, 0, last, tiles, input)), kRounding);
  }
}

GraphSketch& add_byte_constants(GraphSketch& sketch) {
  return sketch.constant("scale", Tensor::of<float>(Shape{}, {0.02f}))
      .constant("zero", Tensor::of<std::uint8_t>(Shape{}, {100}))
      .constant("weights", uniform_tensor(DType::i8, Shape{3, 4, 3, 3}, 1, -50, 50))
      .constant("weight_zero", Tensor::of<std::int8_t>(Shape{}, {3}))
      .node("QuantizeLinear", {"x", "scale", "zero"}, "q");
}

TEST(Tiles, OfConvolutionsOfBytesComputeTheSame) {
  GraphSketch sketch = sketch_of_map();
  add_byte_constants(sketch)
      .node("QLinearConv", {"q", "scale", "zero", "weights", "scale", "weight_zero", "scale", "zero"}, "c",
            {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}})
      .node("DequantizeLinear", {"c", "scale", "zero"}, "y");
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, OfConvolutionsOfIntegersComputeTheSame) {
  GraphSketch sketch = sketch_of_map();
  add_byte_constants(sketch)
      .node("ConvInteger", {"q", "weights", "zero", "weight_zero"}, "c", {{"auto_pad", std::string("SAME_LOWER")}})
      .node("Cast", {"c"}, "y", {{"to", std::int64_t{1}}});
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, ThatNeedAllOfThePlaneComputeTheSame) {
  GraphSketch sketch = sketch_of_map();
  sketch.node("MaxPool", {"x"}, "largest", {{"kernel_shape", Ints{9, 8}}})
      .node("AveragePool", {"x"}, "of_row", {{"kernel_shape", Ints{1, 8}}})
      .node("Mul", {"largest", "x"}, "m")
      .node("Sub", {"m", "of_row"}, "y");
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, OfMapsOfOtherRanksComputeTheSame) {
  GraphSketch sketch = sketch_of_map();
  sketch.constant("one", ints({1}))
      .constant("second", Tensor::of<std::int64_t>(Shape{}, {2}))
      .parameter("w", Shape{3, 1, 3, 3})
      .node("Gather", {"x", "second"}, "g", {{"axis", std::int64_t{1}}})  // [N, H, W]
      .node("Unsqueeze", {"g", "one"}, "u")
      .node("Conv", {"u", "w"}, "c", {{"pads", Ints{1, 1, 1, 1}}})
      .node("ReduceSum", {"c", "one"}, "r")
      .node("Squeeze", {"r", "one"}, "s")
      .node("Unsqueeze", {"s", "one"}, "t")
      .node("Concat", {"x", "t"}, "y", {{"axis", std::int64_t{1}}});
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, OfTransposedConvolutionsComputeTheSame) {
  GraphSketch sketch = sketch_of_map();
  sketch
      .parameter("small", Shape{4, 4, 1, 2})  // leaves rows that nothing reaches
      .parameter("large", Shape{4, 4, 5, 4})
      .node("ConvTranspose", {"x", "small"}, "a", {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 1}}})
      .node("ConvTranspose", {"a", "large"}, "y", {{"strides", Ints{2, 1}}, {"output_shape", Ints{54, 17}}});
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, OfPlanesOfConstantsComputeTheSame) {
  GraphSketch sketch(DType::f32);
  sketch.input("x", Shape{2, 4, 9, 8})
      .constant("limit", uniform_tensor(DType::f32, Shape{9, 8}, 1))
      .constant("columns", uniform_tensor(DType::f32, Shape{8}, 2))
      .constant("coordinates", uniform_tensor(DType::f32, Shape{2, 2, 9, 8}, 3))
      .node("Greater", {"limit", "x"}, "is_small")
      .node("Where", {"is_small", "x", "columns"}, "w")
      .node("Concat", {"w", "coordinates"}, "y", {{"axis", std::int64_t{1}}});
  expect_all_in_tiles(sketch.create({"y"}));
}

TEST(Tiles, OfGlobalAveragesAddUp) {
  GraphSketch sketch = sketch_of_map();
  sketch.parameter("w", Shape{4, 4, 3, 3})
      .node("Conv", {"x", "w"}, "c", {{"pads", Ints{1, 1, 1, 1}}})
      .node("ReduceMean", {"c"}, "y", {{"axes", Ints{-2, -1}}});
  expect_all_in_tiles(sketch.create({"y"}));
}

}  // namespace
}  // namespace mangrove
