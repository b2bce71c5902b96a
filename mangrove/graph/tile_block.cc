#include "mangrove/graph/tile_block.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/graph/tile_rules.h"

namespace mangrove {
namespace {

std::string written(const Interval& interval) {
  return "[" + std::to_string(interval.begin) + ", " + std::to_string(interval.end) + ")";
}

Tensor pair_of(std::int64_t a, std::int64_t b) {
  return Tensor::of<std::int64_t>(Shape{2}, {a, b});
}

class TileBuilder {
 public:
  TileBuilder(const Graph& graph, const TileBlock& block) : graph_(graph), block_(block) {
    for (const auto& [name, tensor] : graph.initializers()) taken_.insert(name);
    for (const auto& [name, info] : graph.inputs()) taken_.insert(name);
    for (const Node& node : graph.nodes()) {
      taken_.insert(node.name);
      taken_.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  Result<Graph> run() {
    const std::size_t count = block_.operators.size();
    parts_.name = graph_.name() +
                  written({static_cast<std::int64_t>(block_.first), static_cast<std::int64_t>(block_.first + count)}) +
                  written(interval(block_.output, 0)) + "x" + written(interval(block_.output, 1));
    parts_.metadata = graph_.metadata();
    ValueInfo input = graph_.value(block_.before);
    input.shape[2] = block_.input.rows();
    input.shape[3] = block_.input.columns();
    parts_.inputs = {{block_.before, std::move(input)}};
    parts_.outputs = {block_.behind};
    values_[block_.before] = {block_.before, block_.input};
    for (std::size_t i = 0; i < count; ++i)
      if (!block_.made[i].is_empty()) add_node(i);
    return Graph::create(std::move(parts_));
  }

 private:
  struct Made {
    std::string name;  // in the tile's graph
    Region region;
  };

  void add_node(std::size_t i) {
    const TileOperator& tiled = block_.operators[i];
    const Region& made = block_.made[i];
    Node node = graph_.nodes()[block_.first + i];
    TileChange change{graph_, tiled.reads, made, node};
    for (auto& [input, tensor] : change_for_tile(change)) {
      const std::string name = unused_name(node.name + "/input" + std::to_string(input));
      parts_.initializers.emplace(name, std::move(tensor));
      node.inputs[input] = name;
    }
    for (const TileRead& map : tiled.reads.maps)
      node.inputs[map.input] = cropped(node.name, node.inputs[map.input], map.read(made));
    for (const std::string& input : node.inputs)
      if (const auto found = graph_.initializers().find(input); found != graph_.initializers().end())
        parts_.initializers.insert(*found);
    for (const std::string& output : node.outputs) values_[output] = {output, made};
    const auto behind = std::ranges::find(node.outputs, block_.behind);
    if (behind == node.outputs.end()) {
      parts_.nodes.push_back(std::move(node));
      return;
    }
    const bool is_share = tiled.reads.averages && made != tiled.reads.plane(), is_more = made != block_.output;
    if (is_share || is_more) {
      *behind = unused_name(block_.behind + "/tile");
      values_[block_.behind] = {*behind, made};
    }
    const std::string name = node.name, inner = *behind;
    parts_.nodes.push_back(std::move(node));
    if (is_share) add_share(name, inner, made, tiled.reads.plane());
    if (is_more) add_crop(name, block_.behind, block_.output, block_.behind);
  }

  /// The mean over a region, times its share of the plane: a summand of the mean over the plane.
  void add_share(const std::string& node, const std::string& mean, const Region& region, const Region& plane) {
    const std::string name = unused_name(node + "/share");
    const auto share = static_cast<double>(region.area()) / static_cast<double>(plane.area());
    parts_.initializers[name] = Tensor::of<float>(Shape{}, {static_cast<float>(share)});  // a number in a formula
    parts_.nodes.push_back(
        {.name = name, .op = "Mul", .attributes = {}, .inputs = {mean, name}, .outputs = {block_.behind}});
  }

  /// The value's name in the tile's graph if its region is this one; else that of a part of it.
  std::string cropped(const std::string& reader, const std::string& value, const Region& region) {
    const Made& made = values_.at(value);
    if (made.region == region) return made.name;
    const auto same = std::ranges::find_if(
        crops_, [&](const auto& crop) { return crop.first == value && crop.second.region == region; });
    if (same != crops_.end()) return same->second.name;
    std::string name = unused_name(reader + "/crop");
    add_crop(reader, value, region, name);
    crops_.emplace_back(value, Made{name, region});
    return name;
  }

  void add_crop(const std::string& reader, const std::string& value, const Region& region, const std::string& output) {
    const Made& made = values_.at(value);
    MG_CHECK(made.region.contains(region));
    const std::string name = output == block_.behind ? unused_name(reader + "/crop") : output;
    const auto rank = static_cast<std::int64_t>(graph_.value(value).shape.rank());
    const std::int64_t top = region.top - made.region.top, left = region.left - made.region.left;
    Node crop{.name = name, .op = "Slice", .attributes = {}, .inputs = {made.name}, .outputs = {output}};
    for (const auto& [what, tensor] : {std::pair{"/starts", pair_of(top, left)},
                                       std::pair{"/ends", pair_of(top + region.rows(), left + region.columns())},
                                       std::pair{"/axes", pair_of(rank - 2, rank - 1)}}) {
      crop.inputs.push_back(unused_name(name + what));
      parts_.initializers.emplace(crop.inputs.back(), tensor);
    }
    parts_.nodes.push_back(std::move(crop));
  }

  std::string unused_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken_.insert(name).second; ++i) name = wanted + std::to_string(i);
    return name;
  }

  const Graph& graph_;
  const TileBlock& block_;
  GraphParts parts_;
  std::set<std::string> taken_;                      // names of values and nodes
  std::map<std::string, Made> values_;               // by their names in the whole graph
  std::vector<std::pair<std::string, Made>> crops_;  // parts of these
};

}  // namespace

void find_regions(std::size_t values, std::size_t before, std::size_t behind, TileBlock& block) {
  std::vector<Region> wanted(values);
  wanted[behind] = block.output;
  block.made.assign(block.operators.size(), {});
  for (std::size_t i = block.operators.size(); i-- > 0;) {
    const TileOperator& tiled = block.operators[i];
    Region region;
    for (const std::size_t output : tiled.outputs) region = region.bounding_box(wanted[output]);
    if (region.is_empty()) continue;
    block.made[i] = tiled.reads.made(region);
    for (std::size_t k = 0; k < tiled.inputs.size(); ++k) {
      Region& input = wanted[tiled.inputs[k]];
      input = input.bounding_box(tiled.reads.maps[k].read(block.made[i]));
    }
  }
  block.input = wanted[before];
}

Result<Graph> graph_of_tile(const Graph& graph, const TileBlock& block) {
  return TileBuilder(graph, block).run();
}

}  // namespace mangrove
