#include "mangrove/graph/tile.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/operator.h"
#include "mangrove/graph/tile_block.h"
#include "mangrove/graph/tile_rules.h"

namespace mangrove {
namespace {

std::string range_of(std::size_t first, std::size_t last) {
  return "[" + std::to_string(first) + ", " + std::to_string(last) + ")";
}

/// A value that is no initializer.
struct FlowingValue {
  std::string name;
  std::optional<std::size_t> maker;  // an operator; none: an input of the graph
  std::vector<std::size_t> readers;  // operators; once for each of their inputs that it is
  bool is_result = false;            // of the graph
};

/// The values of a graph, and the operators that make and read them, by numbers.
class Flow {
 public:
  explicit Flow(const Graph& graph) : graph_(graph) {
    for (const auto& [name, info] : graph.inputs())
      if (!graph.initializers().contains(name)) add(name, std::nullopt);
    inputs_ = values_.size();
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      for (const std::string& input : graph.nodes()[i].inputs)
        if (const auto found = numbers_.find(input); found != numbers_.end())
          values_[found->second].readers.push_back(i);
      for (const std::string& output : graph.nodes()[i].outputs)
        if (!output.empty()) add(output, i);
    }
    for (const std::string& output : graph.outputs())
      if (const auto found = numbers_.find(output); found != numbers_.end()) values_[found->second].is_result = true;
  }

  const std::vector<FlowingValue>& values() const { return values_; }
  std::size_t inputs() const { return inputs_; }

  TileOperator tile_operator(const Node& node, const std::set<std::string>& learned) const {
    TileOperator tiled{.reads = tile_reads(graph_, node, learned), .inputs = {}, .outputs = {}};
    for (const TileRead& map : tiled.reads.maps) tiled.inputs.push_back(numbers_.at(node.inputs[map.input]));
    for (const std::string& output : node.outputs)
      if (!output.empty()) tiled.outputs.push_back(numbers_.at(output));
    return tiled;
  }

  /// The value that alone crosses each cut (graph/cut.h), before each operator and behind all; none where there are
  /// others.
  std::vector<std::optional<std::size_t>> sole_crossings() const {
    const std::size_t operators = graph_.nodes().size();
    std::vector<std::size_t> count(operators + 1, 0);
    std::vector<std::optional<std::size_t>> sole(operators + 1);
    for (std::size_t value = 0; value < values_.size(); ++value) {
      const auto& [name, maker, readers, is_result] = values_[value];
      if (readers.empty() && !is_result) continue;
      const std::size_t last = is_result ? operators : readers.back();
      for (std::size_t cut = maker ? *maker + 1 : 0; cut <= last; ++cut) {
        ++count[cut];
        sole[cut] = value;
      }
    }
    for (std::size_t cut = 0; cut <= operators; ++cut)
      if (count[cut] != 1) sole[cut].reset();
    return sole;
  }

  /// Whether kernels compute the value's maker and its only reader together, as plan::fused_layers has it, or a
  /// normalization whose numbers go into the weights before it.
  bool is_within_kernel(std::size_t value) const {
    const auto& [name, maker, readers, is_result] = values_[value];
    if (!maker || readers.size() != 1 || is_result) return false;
    const Node &made = graph_.nodes()[*maker], &read = graph_.nodes()[readers[0]];
    if (read.op == "BatchNormalization") return made.op == "Conv" || made.op == "ConvTranspose";
    return find_operator(read.op)->activation;
  }

 private:
  void add(const std::string& name, std::optional<std::size_t> maker) {
    numbers_.emplace(name, values_.size());
    values_.push_back({.name = name, .maker = maker, .readers = {}});
  }

  const Graph& graph_;
  std::vector<FlowingValue> values_;
  std::map<std::string, std::size_t> numbers_;
  std::size_t inputs_ = 0;
};

/// Whether a value can lie before or behind a block.
bool is_at_ends(const ValueInfo& info) {
  return info.dtype == DType::f32 && info.shape.rank() == 4 && is_map(info.shape) &&
         info.shape.symbolic_axis() == info.shape.batch_axis() && info.shape.allows_batch_first();
}

Region plane_of(const Shape& map) {
  return {0, 0, plane_size(map, 0), plane_size(map, 1)};
}

}  // namespace

struct Tiling::State {
  explicit State(const Graph& whole) : graph(whole) {
    const Flow flow(whole);
    if (flow.inputs() != 1 || whole.nodes().empty()) return;
    for (const FlowingValue& value : flow.values()) values.push_back(value.name);
    const std::vector<std::string> parameters = whole.parameters();
    const std::set<std::string> learned(parameters.begin(), parameters.end());
    for (const Node& node : whole.nodes()) operators.push_back(flow.tile_operator(node, learned));
    crossings = flow.sole_crossings();
    std::size_t first = 0;
    for (std::size_t last = 1; last <= operators.size(); ++last) {
      const bool is_cut = crossings[last] && !flow.is_within_kernel(*crossings[last]) && !is_within_tiles(last);
      if (!is_cut && last < operators.size()) continue;
      starting[first] = segments.size();
      segments.push_back(segment(first, last));
      first = last;
    }
  }

  /// Whether a value crosses the cut that cannot lie between blocks, but may lie within one: [N, 2, C / 2, H, W] of a
  /// channel shuffle, or bytes.
  bool is_within_tiles(std::size_t cut) const {
    return cut < operators.size() && !is_at_ends(graph.value(values[*crossings[cut]])) &&
           operators[cut - 1].reads.can_be_tiled() && operators[cut].reads.can_be_tiled();
  }

  TileSegment segment(std::size_t first, std::size_t last) const {
    TileSegment made{.first = first, .last = last};
    const std::optional<std::size_t> before = crossings[first], behind = crossings[last];
    if (!before || !behind || *before == *behind) return made;
    const ValueInfo &from = graph.value(values[*before]), &to = graph.value(values[*behind]);
    if (!is_at_ends(from) || !is_at_ends(to)) return made;
    for (std::size_t i = first; i < last; ++i) {
      const TileReads& reads = operators[i].reads;
      if (!reads.can_be_tiled()) return made;
      const bool is_end = i + 1 == last && operators[i].outputs[0] == *behind;
      if (reads.averages && !is_end) return made;
    }
    const TileReads& end = operators[last - 1].reads;
    made.can_be_tiled = true;
    made.join = end.averages ? TileJoin::add : TileJoin::place;
    made.input = plane_of(from.shape);
    made.output = end.averages ? end.plane() : plane_of(to.shape);
    return made;
  }

  Result<const TileSegment*> last_of_block(std::size_t first, std::size_t last) const {
    const auto found = starting.find(first);
    const std::size_t begin = found == starting.end() ? segments.size() : found->second;
    for (std::size_t i = begin; i < segments.size() && segments[i].can_be_tiled; ++i) {
      if (segments[i].last == last) return &segments[i];
      if (segments[i].join == TileJoin::add) break;
    }
    return make_error(Code::invalid_argument, "operators " + range_of(first, last) + " of model '" + graph.name() +
                                                  "' are no segments that can be tiled together");
  }

  Result<TileBlock> block(std::size_t first, std::size_t last, const Region& output) const {
    MG_TRY(const TileSegment* end, last_of_block(first, last));
    if (output.is_empty() || !end->output.contains(output)) {
      return make_error(Code::invalid_argument,
                        "a tile of rows [" + std::to_string(output.top) + ", " + std::to_string(output.bottom) +
                            ") and columns [" + std::to_string(output.left) + ", " + std::to_string(output.right) +
                            ") is empty or not within a plane of " + std::to_string(end->output.rows()) + " x " +
                            std::to_string(end->output.columns()));
    }
    const std::size_t before = *crossings[first], behind = *crossings[last];
    TileBlock made{.first = first,
                   .operators = std::span(operators).subspan(first, last - first),
                   .before = values[before],
                   .behind = values[behind],
                   .output = output};
    find_regions(values.size(), before, behind, made);
    return made;
  }

  const Graph& graph;
  std::vector<std::string> values;
  std::vector<TileOperator> operators;
  std::vector<std::optional<std::size_t>> crossings;  // the value that alone crosses the cut before each operator
  std::vector<TileSegment> segments;
  std::map<std::size_t, std::size_t> starting;  // segments by their first operators
};

Tiling::Tiling(const Graph& graph) : state_(std::make_shared<const State>(graph)) {}

const std::vector<TileSegment>& Tiling::segments() const {
  return state_->segments;
}

Result<const TileSegment*> Tiling::last_of(std::size_t first, std::size_t last) const {
  return state_->last_of_block(first, last);
}

Result<TileCost> Tiling::cost(std::size_t first, std::size_t last, const Region& output) const {
  MG_TRY(const TileBlock block, state_->block(first, last, output));
  TileCost cost{.input = block.input, .shares = {}};
  for (std::size_t i = 0; i < block.operators.size(); ++i) {
    const Region plane = block.operators[i].reads.plane();
    cost.shares.push_back(static_cast<double>(block.made[i].area()) / static_cast<double>(plane.area()));
  }
  return cost;
}

Result<TileGraph> Tiling::tile(std::size_t first, std::size_t last, const Region& output) const {
  MG_TRY(const TileBlock block, state_->block(first, last, output));
  MG_TRY(Graph graph, graph_of_tile(state_->graph, block));
  return TileGraph{std::move(graph), block.input};
}

}  // namespace mangrove
