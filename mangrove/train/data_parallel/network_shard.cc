#include "mangrove/train/data_parallel/network_shard.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"

namespace mangrove::train {
namespace {

/// Elements [range) along one axis of a tensor of rank 1 or 2.
struct Slice {
  std::size_t axis = 0;
  Range range;
};

Tensor sliced(const Tensor& tensor, const Slice& slice) {
  std::vector<std::int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
  const std::size_t columns = sizes.size() == 2 ? static_cast<std::size_t>(sizes[1]) : 1;
  sizes[slice.axis] = static_cast<std::int64_t>(slice.range.count);
  Tensor part(DType::f32, Shape(sizes));
  const std::span<const float> all = tensor.as<float>();
  auto next = part.as<float>().begin();
  if (slice.axis == 0) {
    std::ranges::copy(all.subspan(slice.range.first * columns, slice.range.count * columns), next);
    return part;
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(sizes[0]); ++row)
    next = std::ranges::copy(all.subspan(row * columns + slice.range.first, slice.range.count), next).out;
  return part;
}

/// The parameters of the pair that are divided, and along which axis: weights are [inputs, outputs], or the other way
/// round with transB.
std::map<std::string, Slice> slices_of(const Graph& graph, const LayerPair& pair, Range hidden) {
  const Node &first = graph.nodes()[pair.begin], &second = graph.nodes()[pair.end - 1];
  std::map<std::string, Slice> slices;
  slices[first.inputs[1]] = {first.int_or("transB", 0) != 0 ? 0u : 1u, hidden};
  if (first.inputs.size() > 2 && !first.inputs[2].empty()) slices[first.inputs[2]] = {0, hidden};
  slices[second.inputs[1]] = {second.int_or("transB", 0) != 0 ? 1u : 0u, hidden};
  return slices;
}

/// The name, or a longer one that the graph does not have yet.
std::string unused(const Graph& graph, std::string name) {
  const auto is_node = [&](const Node& node) { return node.name == name; };
  while (graph.has_value(name) || std::ranges::any_of(graph.nodes(), is_node)) name += "_";
  return name;
}

Graph shard_graph(const Graph& graph, const LayerPair& pair, const std::map<std::string, Slice>& slices) {
  GraphParts parts = graph.parts();
  for (const auto& [name, slice] : slices) {
    Tensor& tensor = parts.initializers.at(name);
    tensor = sliced(tensor, slice);
  }
  Node& second = parts.nodes[pair.end - 1];
  if (second.inputs.size() > 2 && !second.inputs[2].empty()) {
    const std::string sum = second.outputs[0], partial = unused(graph, sum + ".partial");
    Node add{unused(graph, second.name + ".bias"), "Add", {}, {partial, second.inputs[2]}, {sum}};
    second.outputs[0] = partial;
    second.inputs.resize(2);
    parts.nodes.insert(parts.nodes.begin() + static_cast<std::ptrdiff_t>(pair.end), std::move(add));
  }
  Result<Graph> shard = Graph::create(std::move(parts));
  MG_CHECK_MSG(shard.ok(), shard.error().message);
  return graph.has_weights() ? *shard : shard->without_weights();
}

}  // namespace

NetworkShard NetworkShard::of(const Graph& graph, const LayerPair& pair, std::size_t index, std::size_t ways) {
  MG_CHECK(index < ways && ways <= static_cast<std::size_t>(pair.hidden));
  const std::map<std::string, Slice> slices =
      slices_of(graph, pair, part_of(static_cast<std::size_t>(pair.hidden), index, ways));
  NetworkShard shard(graph, shard_graph(graph, pair, slices));
  shard.begin_ = pair.begin;
  shard.end_ = pair.end;
  std::map<std::string, std::size_t> starts;  // in the whole network's vector
  std::size_t next = 0;
  for (const std::string& name : graph.parameters()) {
    starts[name] = next;
    next += static_cast<std::size_t>(graph.value(name).shape.elements());
  }
  for (const std::string& name : shard.graph_.parameters()) {
    const Shape& whole = graph.value(name).shape;
    const auto elements = static_cast<std::size_t>(shard.graph_.value(name).shape.elements());
    Place place{.first = starts.at(name), .rows = 1, .count = elements};
    const auto slice = slices.find(name);
    if (slice != slices.end()) {
      const Range range = slice->second.range;
      const std::size_t columns = whole.rank() == 2 ? static_cast<std::size_t>(whole[1]) : 1;
      if (slice->second.axis == 0) {
        place.first += range.first * columns;
      } else {
        place = {place.first + range.first, static_cast<std::size_t>(whole[0]), range.count, columns};
      }
    }
    shard.divided_.push_back(slice != slices.end());
    shard.places_.push_back(place);
    (slice != slices.end() ? shard.divided_elements_ : shard.common_elements_) += elements;
  }
  return shard;
}

void NetworkShard::gather(std::span<const float> whole, std::span<float> shard) const {
  MG_CHECK(whole.size() == static_cast<std::size_t>(whole_parameters_) &&
           shard.size() == common_elements_ + divided_elements_);
  auto next = shard.begin();
  for (const Place& place : places_)
    for (std::size_t row = 0; row < place.rows; ++row)
      next = std::ranges::copy(whole.subspan(place.first + row * place.stride, place.count), next).out;
}

void NetworkShard::scatter(bool divided, std::span<const float> floats, std::span<float> whole) const {
  MG_CHECK(whole.size() == static_cast<std::size_t>(whole_parameters_));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (divided_[i] != divided) continue;
    const Place& place = places_[i];
    for (std::size_t row = 0; row < place.rows; ++row) {
      std::ranges::copy(floats.first(place.count),
                        whole.begin() + static_cast<std::ptrdiff_t>(place.first + row * place.stride));
      floats = floats.subspan(place.count);
    }
  }
  MG_CHECK(floats.empty());
}

void NetworkShard::scatter_divided(std::span<const float> floats, std::span<float> whole) const {
  scatter(true, floats, whole);
}

void NetworkShard::scatter_common(std::span<const float> floats, std::span<float> whole) const {
  scatter(false, floats, whole);
}

}  // namespace mangrove::train
