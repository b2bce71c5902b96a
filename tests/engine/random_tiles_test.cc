// Properties of tiles, on graphs made up at random: whatever the operators, a tile computes what the whole network
// computes in its region.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tests/engine/sample_graphs.h"
#include "tests/engine/tiled_run.h"
#include "tests/graph/ints.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {
namespace {

using testing::ints;
using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

constexpr std::int64_t kChannels = 4;
constexpr std::int64_t kLargestPlane = 40 * 40;

/// A network of a few operators over x [N, 4, H, W]. All attributes are drawn, also those that make no sense: then the
/// operator is left out.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed) {
    parts_.name = "random";
    const ValueInfo input{DType::f32, Shape{kBatch, kChannels, upto(3, 14), upto(3, 14)}};
    parts_.inputs = {{"x", input}};
    values_["x"] = input;
    last_ = "x";
  }

  Graph make() {
    const std::int64_t wanted = upto(1, 7);
    while (std::ssize(parts_.nodes) < wanted) {
      const RandomNetwork before = *this;
      if (!(this->*kSteps[index(std::size(kSteps))])() || !is_small()) {
        const Random drawn = random_;
        *this = before;
        random_ = drawn;
      }
    }
    if (is_true(0.2)) add("GlobalAveragePool", {last_});
    parts_.outputs = {last_};
    return Graph::create(std::move(parts_)).value();
  }

 private:
  using Step = bool (RandomNetwork::*)();

  std::int64_t upto(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(index(static_cast<std::size_t>(high - low + 1)));
  }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(random_.below(count)); }
  bool is_true(double probability) { return random_.uniform() < probability; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[index(all.size())];
  }
  Ints several(std::size_t count, std::int64_t low, std::int64_t high) {
    Ints values(count);
    for (std::int64_t& value : values) value = upto(low, high);
    return values;
  }

  const Shape& shape() const { return values_.at(last_).shape; }
  bool is_small() const { return shape().elements(2, 4) <= kLargestPlane; }

  std::string constant(Tensor tensor) {
    std::string name = "c" + std::to_string(parts_.initializers.size());
    values_[name] = {tensor.dtype(), tensor.shape()};
    parts_.initializers.emplace(name, std::move(tensor));
    return name;
  }
  std::string numbers(Shape of, double low = -1, double high = 1) {
    return constant(uniform_tensor(DType::f32, of, parts_.initializers.size(), low, high));
  }

  /// False where the operator does not fit.
  bool add_of_several(const std::string& op, std::vector<std::string> inputs, std::size_t outputs,
                      Attributes attributes = {}) {
    Node node{.name = "n" + std::to_string(parts_.nodes.size()),
              .op = op,
              .attributes = std::move(attributes),
              .inputs = std::move(inputs),
              .outputs = {}};
    for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(node.name + "." + std::to_string(i));
    if (!infer_node(node, parts_.initializers, values_).ok()) return false;
    last_ = node.outputs[0];
    parts_.nodes.push_back(std::move(node));
    return true;
  }
  bool add(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {}) {
    return add_of_several(op, std::move(inputs), 1, std::move(attributes));
  }

  bool to_four_channels() {
    return shape()[1] == kChannels || add("Conv", {last_, numbers({kChannels, shape()[1], 1, 1})});
  }

  Attributes window(std::int64_t largest_kernel) {
    const Ints kernel = several(2, 1, largest_kernel);
    Attributes attributes{{"kernel_shape", kernel}, {"strides", several(2, 1, 3)}};
    if (is_true(0.25)) {
      attributes["auto_pad"] = one_of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
    } else {
      attributes["pads"] = several(4, 0, upto(0, largest_kernel));
    }
    return attributes;
  }

  bool conv() {
    Attributes attributes = window(5);
    attributes["dilations"] = several(2, 1, 2);
    const std::int64_t group = one_of<std::int64_t>({1, 2, kChannels});
    attributes["group"] = group;
    const Ints kernel = std::get<Ints>(attributes["kernel_shape"]);
    return add("Conv", {last_, numbers({kChannels, kChannels / group, kernel[0], kernel[1]}), numbers({kChannels})},
               std::move(attributes));
  }

  bool conv_transpose() {
    Attributes attributes = window(4);
    const Ints kernel = std::get<Ints>(attributes["kernel_shape"]), strides = std::get<Ints>(attributes["strides"]);
    attributes["dilations"] = several(2, 1, 2);
    attributes["group"] = one_of<std::int64_t>({1, 2});
    if (is_true(0.5)) attributes["output_padding"] = Ints{upto(0, strides[0] - 1), upto(0, strides[1] - 1)};
    const std::int64_t of_group = kChannels / std::get<std::int64_t>(attributes["group"]);
    return add("ConvTranspose", {last_, numbers({kChannels, of_group, kernel[0], kernel[1]}), numbers({kChannels})},
               std::move(attributes));
  }

  bool max_pool() {
    Attributes attributes = window(4);
    attributes["dilations"] = several(2, 1, 3);
    attributes["ceil_mode"] = upto(0, 1);
    return add("MaxPool", {last_}, std::move(attributes));
  }

  bool average_pool() {
    Attributes attributes = window(4);
    attributes["ceil_mode"] = upto(0, 1);
    attributes["count_include_pad"] = upto(0, 1);
    return add("AveragePool", {last_}, std::move(attributes));
  }

  bool resize() {
    const Ints scales = several(2, 1, 3);
    std::vector<std::string> inputs{last_, "", ""};
    if (is_true(0.5)) {
      const auto rows = static_cast<float>(scales[0]), columns = static_cast<float>(scales[1]);
      inputs[2] = constant(Tensor::of<float>(Shape{4}, {1, 1, rows, columns}));
    } else {
      inputs.push_back(constant(ints({-1, kChannels, shape()[2] * scales[0], shape()[3] * scales[1]})));
    }
    const std::string mode = one_of<std::string>(
        {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"});
    return add("Resize", std::move(inputs),
               {{"coordinate_transformation_mode", mode},
                {"mode", one_of<std::string>({"nearest", "linear", "cubic"})},
                {"exclude_outside", upto(0, 1)},
                {"nearest_mode", one_of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})}});
  }

  bool pad() {
    const std::string pads = constant(ints({0, 0, upto(-2, 3), upto(-2, 3), 0, 0, upto(-2, 3), upto(-2, 3)}));
    return add("Pad", {last_, pads, constant(Tensor::of<float>(Shape{}, {0.5f}))},
               {{"mode", one_of<std::string>({"constant", "constant", "edge"})}}) &&
           shape()[2] > 0 && shape()[3] > 0;
  }

  bool slice() {
    const Ints starts{upto(0, 2), upto(-3, 2)}, ends{upto(3, 20), upto(-1, 20)}, axes{2, -1};
    return add("Slice", {last_, constant(ints(starts)), constant(ints(ends)), constant(ints(axes)),
                         constant(ints({upto(1, 3), upto(1, 2)}))}) &&
           shape()[2] > 0 && shape()[3] > 0;
  }

  bool with_constant() {
    const std::int64_t height = shape()[2], width = shape()[3];
    const Shape of = one_of<Shape>({Shape{}, Shape{kChannels, 1, 1}, Shape{height, width}, Shape{width},
                                    Shape{1, kChannels, height, 1}, Shape{1, kChannels, height, width}});
    const std::string number = numbers(of, 0.5, 1.5);
    if (is_true(0.3)) return add(one_of<std::string>({"Sub", "Min"}), {number, last_});
    return add(one_of<std::string>({"Sub", "Div", "Mul", "Max", "PRelu"}), {last_, number});
  }

  bool residual() {
    const std::string x = last_;
    const bool is_made =
        add("Conv", {x, numbers({kChannels, 1, 3, 3})}, {{"group", kChannels}, {"pads", Ints{1, 1, 1, 1}}}) &&
        add("Relu", {last_});
    if (!is_made) return false;
    std::vector<std::string> terms{last_, x};
    if (is_true(0.5)) std::swap(terms[0], terms[1]);
    return add(one_of<std::string>({"Add", "Sum", "Mul", "Mean"}), terms);
  }

  bool branches() {
    const std::string x = last_;
    if (!add("Conv", {x, numbers({kChannels, kChannels, 3, 5})}, {{"pads", Ints{1, 2, 1, 2}}})) return false;
    const std::string left = last_;
    if (!add("MaxPool", {x}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{2, 0, 0, 2}}})) return false;
    return add("Concat", {left, last_, x}, {{"axis", one_of<std::int64_t>({1, -3})}}) && to_four_channels();
  }

  bool unary() {
    return add(one_of<std::string>({"Relu", "Sigmoid", "Tanh", "HardSwish", "Abs", "Neg", "Identity", "Softsign"}),
               {last_});
  }

  bool normalization() {
    const std::int64_t kind = upto(0, 2);
    if (kind == 0) return add("LRN", {last_}, {{"size", upto(1, 5)}});
    if (kind == 1) return add("Softmax", {last_}, {{"axis", one_of<std::int64_t>({1, -3, -1})}});
    return add("BatchNormalization", {last_, numbers({kChannels}), numbers({kChannels}), numbers({kChannels}),
                                      numbers({kChannels}, 0.5, 1.5)});
  }

  bool shuffle() {
    const Shape& whole = shape();
    const std::string apart = constant(ints({0, 2, 2, whole[2], whole[3]}));
    const std::string together = constant(ints({-1, kChannels, whole[2], whole[3]}));
    return add("Reshape", {last_, apart}) && add("Transpose", {last_}, {{"perm", Ints{0, 2, 1, 3, 4}}}) &&
           add("Reshape", {last_, together});
  }

  bool depth_and_space() {
    const bool is_deep = is_true(0.5);
    const std::string op = is_deep ? "DepthToSpace" : "SpaceToDepth";
    return add(op, {last_}, {{"blocksize", std::int64_t{2}}}) && to_four_channels();
  }

  bool attention() {  // a weight for each place
    const std::string x = last_;
    const std::string op = one_of<std::string>({"ReduceMean", "ReduceMax", "ReduceMin"});
    return add(op, {x}, {{"axes", Ints{1}}}) && add("Sigmoid", {last_}) && add("Mul", {x, last_});
  }

  bool swap_halves() {
    if (!add_of_several("Split", {last_}, 2, {{"axis", std::int64_t{1}}})) return false;
    const std::string first = parts_.nodes.back().outputs[0], second = parts_.nodes.back().outputs[1];
    if (!add("Conv", {second, numbers({2, 2, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})) return false;
    return add("Concat", {last_, first}, {{"axis", std::int64_t{1}}});
  }

  bool bytes() {
    const std::string scale = numbers(one_of<Shape>({Shape{}, Shape{kChannels}}), 0.01, 0.02);
    const std::string zero = constant(Tensor(DType::u8, values_.at(scale).shape));
    return add("QuantizeLinear", {last_, scale, zero}) && add("DequantizeLinear", {last_, scale, zero});
  }

  bool gather() { return add("Gather", {last_, constant(ints({3, 1, 0, -2}))}, {{"axis", std::int64_t{1}}}); }

  bool where() {
    const std::string x = last_, zero = constant(Tensor::of<float>(Shape{}, {0}));
    return add("Greater", {x, zero}) && add("Where", {last_, x, zero});
  }

  static constexpr Step kSteps[] = {
      &RandomNetwork::conv,         &RandomNetwork::conv,
      &RandomNetwork::conv,         &RandomNetwork::conv_transpose,
      &RandomNetwork::max_pool,     &RandomNetwork::max_pool,
      &RandomNetwork::average_pool, &RandomNetwork::average_pool,
      &RandomNetwork::resize,       &RandomNetwork::pad,
      &RandomNetwork::slice,        &RandomNetwork::with_constant,
      &RandomNetwork::residual,     &RandomNetwork::branches,
      &RandomNetwork::unary,        &RandomNetwork::normalization,
      &RandomNetwork::shuffle,      &RandomNetwork::depth_and_space,
      &RandomNetwork::attention,    &RandomNetwork::swap_halves,
      &RandomNetwork::bytes,        &RandomNetwork::gather,
      &RandomNetwork::where,
  };

  Random random_;
  GraphParts parts_;
  Values values_;
  std::string last_;
};

/// The longest row of segments that can be tiled together, by their operators; none: nothing.
std::optional<std::pair<std::size_t, std::size_t>> longest_block(const std::vector<TileSegment>& segments) {
  std::optional<std::pair<std::size_t, std::size_t>> longest;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (std::size_t k = i; k < segments.size() && segments[k].can_be_tiled; ++k) {
      const std::pair found{segments[i].first, segments[k].last};
      if (!longest || found.second - found.first > longest->second - longest->first) longest = found;
    }
  }
  return longest;
}

std::string operators_of(const Graph& graph) {
  std::string all;
  for (const Node& node : graph.nodes()) all += node.op + " ";
  return all;
}

Interval random_interval(Random& random, std::int64_t size) {
  const auto begin = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
  return {begin, begin + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size - begin)))};
}

class RandomTiles : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTiles, ComputeTheSame) {
  constexpr std::uint64_t kGraphs = 100;
  std::size_t tiled = 0;
  for (std::uint64_t seed = GetParam() * kGraphs; seed < (GetParam() + 1) * kGraphs; ++seed) {
    const Graph graph = RandomNetwork(seed).make();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + operators_of(graph));
    const Tiling tiling(graph);
    const auto block = longest_block(tiling.segments());
    if (!block) continue;
    ++tiled;
    const auto [first, last] = *block;
    const TileSegment& end = *std::ranges::find(tiling.segments(), last, &TileSegment::last);
    const Graph part = graph.slice(first, last).value();
    const Tensor input = uniform_tensor(DType::f32, part.inputs()[0].second.shape.with_batch(2), seed);
    const Tensor whole = run_graph(part, input);
    const Partition quarters{{0.4, 1}, {0.6, 1}};
    const Tensor tiles = run_tiles(graph, tiling, first, last, parts_of(end.output, quarters), input);
    ASSERT_LE(difference(whole, tiles), 1e-5);
    Random random(seed);
    for (int i = 0; i < 3 && end.join == TileJoin::place; ++i) {
      const Interval rows = random_interval(random, end.output.rows());
      const Interval columns = random_interval(random, end.output.columns());
      const Region region{rows.begin, columns.begin, rows.end, columns.end};
      const auto tile = tiling.tile(first, last, region);
      ASSERT_TRUE(tile.ok()) << tile.error().message;
      const Tensor found = run_graph(tile->graph, region_of(input, tile->input));
      ASSERT_LE(difference(region_of(whole, region), found), 1e-5);
    }
  }
  EXPECT_GT(tiled, kGraphs / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTiles, ::testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace mangrove
