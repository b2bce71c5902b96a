#include "mangrove/graph/tile_rules.h"

#include <algorithm>
#include <string_view>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/movement_geometry.h"
#include "mangrove/graph/reduction_geometry.h"
#include "mangrove/graph/tile_neighbourhoods.h"
#include "mangrove/graph/tiled_node.h"

namespace mangrove {
namespace {

/// Whether an axis, counted as ONNX does, is one before the plane.
bool is_before_plane(std::int64_t axis, const Shape& shape) {
  const Result<std::size_t> position = resolve_axis(axis, shape);
  return position.ok() && *position + 2 < shape.rank();
}

bool have_same_plane(const Shape& a, const Shape& b) {
  return plane_size(a, 0) == plane_size(b, 0) && plane_size(a, 1) == plane_size(b, 1);
}

/// Each element is made from those of input 0 at the same place of the plane. That holds for operators that reshape
/// too, if the plane is the same after them.
TileReads at_same_place(const TiledNode& at) {
  return have_same_plane(at.input(0), at.output()) ? from_first(axes_between(at.input(0), at.output())) : TileReads{};
}

template <std::int64_t fallback>
TileReads along_axis(const TiledNode& at) {
  return is_before_plane(at.node.int_or("axis", fallback), at.input(0)) ? at_same_place(at) : TileReads{};
}

/// All inputs at the same place; what has one row or column is that of every place.
TileReads elementwise(const TiledNode& at) {
  TileReads reads;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (!has_input(at.node, i)) continue;
    if (at.constant(i) != nullptr) {
      if (has_plane(at.input(i)) && at.learned.contains(at.node.inputs[i])) return {};
      continue;
    }
    std::array<TileAxis, 2> axes = axes_between(at.input(i), at.output());
    for (TileAxis& axis : axes)
      if (axis.input == 1 && axis.output > 1) axis.kind = TileAxis::Kind::broadcast;
    reads.maps.push_back({i, axes});
  }
  return reads;
}

TileReads concat(const TiledNode& at) {
  return is_before_plane(at.node.int_or("axis", 0), at.output()) ? elementwise(at) : TileReads{};
}

/// Scales and zero points are one for all, or go by an axis.
TileReads quantization(const TiledNode& at) {
  const auto is_for_all = [&](std::size_t i) {
    return !has_input(at.node, i) || (at.constant(i) != nullptr && at.constant(i)->elements() == 1);
  };
  return is_for_all(1) && is_for_all(2) ? at_same_place(at) : along_axis<1>(at);
}

template <std::size_t weights>
TileReads convolution_by(const TiledNode& at) {
  return tile_rules::convolution(at, weights);
}

TileReads global_average(const TiledNode& at) {
  if (at.input(0).rank() != 4) return {};
  TileReads reads = from_first(axes_between(at.input(0), at.input(0)));
  reads.averages = true;
  return reads;
}

/// can_average: tiles of the reduction over the whole plane can be added up.
template <bool can_average = false>
TileReads reduction(const TiledNode& at) {
  const Shape& input = at.input(0);
  const Result<ReductionGeometry> geometry = reduction_geometry(at.node, input, at.constant(1));
  if (!geometry.ok()) return {};
  Shape averaged = input;
  averaged[input.rank() - 2] = averaged[input.rank() - 1] = 1;
  if (can_average && geometry->kept == averaged && at.output() == averaged) return global_average(at);
  return have_same_plane(geometry->kept, input) ? at_same_place(at) : TileReads{};
}

TileReads squeeze(const TiledNode& at) {
  return has_input(at.node, 1) ? at_same_place(at) : TileReads{};  // else a tile of one row would lose its rows
}

TileReads transpose(const TiledNode& at) {
  const Result<std::vector<std::size_t>> permutation = permutation_of(at.node, at.input(0));
  const std::size_t rank = at.input(0).rank();
  const bool keeps_plane = permutation.ok() && (*permutation)[rank - 2] == rank - 2;
  return keeps_plane && (*permutation)[rank - 1] == rank - 1 ? at_same_place(at) : TileReads{};
}

struct TileRule {
  std::string_view type;
  TileReads (*reads)(const TiledNode& at);
  NewConstants (*change)(TileChange& tile) = keep_node;
  bool has_several_outputs = false;  // each of which is a map with the same plane
};

/// Not here: what mixes all of the plane (Gemm, MatMul, Flatten, normalisation over rows, GlobalMaxPool), what has
/// more than one output (TopK, DynamicQuantizeLinear), and what stands for constants.
constexpr TileRule kTileRules[] = {
    // of each element alone
    {"Abs", elementwise},
    {"Add", elementwise, cut_planes},
    {"And", elementwise, cut_planes},
    {"BatchNormalization", along_axis<1>},
    {"Cast", elementwise},
    {"Ceil", elementwise},
    {"Clip", at_same_place},
    {"DequantizeLinear", quantization},
    {"Div", elementwise, cut_planes},
    {"Dropout", at_same_place},
    {"Elu", elementwise},
    {"Equal", elementwise, cut_planes},
    {"Erf", elementwise},
    {"Exp", elementwise},
    {"Floor", elementwise},
    {"Greater", elementwise, cut_planes},
    {"HardSigmoid", elementwise},
    {"HardSwish", elementwise},
    {"Identity", elementwise},
    {"LeakyRelu", elementwise},
    {"Less", elementwise, cut_planes},
    {"Log", elementwise},
    {"Max", elementwise, cut_planes},
    {"Mean", elementwise, cut_planes},
    {"Min", elementwise, cut_planes},
    {"Mul", elementwise, cut_planes},
    {"Neg", elementwise},
    {"Not", elementwise},
    {"Or", elementwise, cut_planes},
    {"PRelu", elementwise, cut_planes},
    {"Pow", elementwise, cut_planes},
    {"QuantizeLinear", quantization},
    {"Reciprocal", elementwise},
    {"Relu", elementwise},
    {"Selu", elementwise},
    {"Sigmoid", elementwise},
    {"Softplus", elementwise},
    {"Softsign", elementwise},
    {"Sqrt", elementwise},
    {"Sub", elementwise, cut_planes},
    {"Sum", elementwise, cut_planes},
    {"Tanh", elementwise},
    {"Where", elementwise, cut_planes},
    // along the channels
    {"Concat", concat, cut_planes},
    {"Gather", along_axis<0>},
    {"LRN", along_axis<1>},
    {"LogSoftmax", along_axis<-1>},
    {"ReduceMax", reduction<>},
    {"ReduceMin", reduction<>},
    {"ReduceSum", reduction<>},
    {"Reshape", at_same_place, set_plane_of_shape},
    {"Softmax", along_axis<-1>},
    {"Split", along_axis<0>, keep_node, /*has_several_outputs=*/true},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Unsqueeze", at_same_place},
    // of the neighbourhood
    {"AveragePool", tile_rules::pooling, set_padding},
    {"Conv", convolution_by<1>, set_padding},
    {"ConvInteger", convolution_by<1>, set_padding},
    {"ConvTranspose", tile_rules::transposed_convolution, set_transposed_padding},
    {"DepthToSpace", tile_rules::depth_to_space},
    {"MaxPool", tile_rules::pooling, set_padding},
    {"Pad", tile_rules::pad, set_pads},
    {"QLinearConv", convolution_by<3>, set_padding},
    {"Resize", tile_rules::resize, set_sizes},
    {"Slice", tile_rules::slice, set_starts_and_ends},
    {"SpaceToDepth", tile_rules::space_to_depth},
    // of all of the plane
    {"GlobalAveragePool", global_average},
    {"ReduceMean", reduction<true>},
};

const TileRule* find_tile_rule(std::string_view type) {
  const auto* found = std::ranges::find(kTileRules, type, &TileRule::type);
  return found == std::end(kTileRules) ? nullptr : found;
}

/// Every input is a map or a constant, every output a map.
bool has_only_maps(const Graph& graph, const Node& node) {
  const auto is_one = [&](const std::string& value) { return value.empty() || is_map(graph.value(value).shape); };
  const auto is_one_or_constant = [&](const std::string& input) {
    return graph.initializers().contains(input) || is_one(input);
  };
  return std::ranges::all_of(node.inputs, is_one_or_constant) && std::ranges::all_of(node.outputs, is_one);
}

/// Whether a rule has found all inputs that are no constants, and a region of the input for each of the output.
bool is_complete(const TiledNode& at, const TileReads& reads) {
  std::size_t maps = 0;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i)
    if (has_input(at.node, i) && at.constant(i) == nullptr) ++maps;
  const auto is_tileable = [](const TileRead& map) { return std::ranges::all_of(map.axes, can_be_tiled); };
  return maps == reads.maps.size() && std::ranges::all_of(reads.maps, is_tileable);
}

}  // namespace

bool is_map(const Shape& shape) {
  return shape.rank() >= 3 && plane_size(shape, 0) > 0 && plane_size(shape, 1) > 0;
}

TileReads tile_reads(const Graph& graph, const Node& node, const std::set<std::string>& learned) {
  const TileRule* rule = find_tile_rule(node.op);
  if (rule == nullptr || !has_only_maps(graph, node)) return {};
  const std::ptrdiff_t outputs = std::ssize(node.outputs) - std::ranges::count(node.outputs, std::string());
  if (outputs < 1 || (outputs > 1 && !rule->has_several_outputs)) return {};
  const TiledNode at{graph, node, learned};
  if (at.constant(0) != nullptr && rule->change != cut_planes) return {};
  TileReads reads = rule->reads(at);
  return is_complete(at, reads) ? reads : TileReads{};
}

NewConstants change_for_tile(TileChange& tile) {
  return find_tile_rule(tile.node.op)->change(tile);
}

}  // namespace mangrove
